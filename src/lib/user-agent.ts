/** How we name ourselves to servers of other people: some refuse who gives no name, or only that of Node. */
export const USER_AGENT = 'Easel/1'
