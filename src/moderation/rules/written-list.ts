/** A list written as text, its entries parted by commas or line ends. */
export const writtenList = (text: string): string[] =>
  text
    .split(/[,\n]/)
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')
