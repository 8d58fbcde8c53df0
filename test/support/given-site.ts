import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A drawing that would run a script, if it were let. */
export const MARK = `<?xml version="1.0"?>
<!-- the mark -->
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><script>parent.document.title = 'run'</script><circle cx="16" cy="16" r="14" fill="#0b5cad"/></svg>`

export const drawing = (colour: string) =>
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 33"><rect width="24" height="33" fill="${colour}"/></svg>`

/** A file for SITE_FILE, in a folder of its own, with other files beside it. */
export function givenSiteFile(content: unknown, files: Readonly<Record<string, string | Buffer>> = {}): string {
  const folder = mkdtempSync(join(tmpdir(), 'easel-site-'))
  for (const [name, body] of Object.entries(files)) writeFileSync(join(folder, name), body)
  const path = join(folder, 'site.json')
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}

/** With everything that such a file may say. */
export const FULL_SITE = {
  name: 'Atelier K',
  mark: 'mark.svg',
  accent: { light: '#0b5cad', dark: '#8EC5FF' },
  home: {
    headline: { en: 'Draw with words', de: 'Mit Worten zeichnen' },
    lead: 'For members of the club & their friends.',
    pictures: [
      { src: 'red.svg', alt: 'a red rectangle', caption: { en: 'red', de: 'rot' } },
      { src: 'blue.svg', alt: { en: 'a blue rectangle' } },
      { src: '/assets/no-such.png', alt: 'nothing' },
    ],
  },
  links: {
    terms: { en: 'https://club.example/terms', de: 'https://club.example/agb' },
    privacy: 'https://club.example/privacy',
    imprint: '/imprint',
    contact: 'mailto:help@club.example',
    status: 'https://status.club.example',
    plan: 'https://club.example/join',
    more: [{ label: { en: 'Forum' }, href: 'https://forum.club.example' }],
  },
}

export const FULL_SITE_FILES = { 'mark.svg': MARK, 'red.svg': drawing('red'), 'blue.svg': drawing('blue') }
