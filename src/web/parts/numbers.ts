/** With the thousands apart. */
export const number = (value: number): string => value.toLocaleString('en')

/** `1 credit`, `1,200 credits`. */
export const counted = (count: number, noun: string): string => `${number(count)} ${noun}${count === 1 ? '' : 's'}`
