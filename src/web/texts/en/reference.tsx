import type { ComponentChildren } from 'preact'

type Link = (text: string) => ComponentChildren

/** Around the API reference, which is in English for everybody. */
export const reference = {
  title: 'API reference',
  lead: 'Images from words, over HTTP. Submit a prompt, follow it, keep the link.',
  description: (name: string): string =>
    `Every endpoint of the API of ${name}: generate images from text over HTTP, with samples in curl, Python and TypeScript.`,
  signedIn: (username: ComponentChildren, keys: Link): ComponentChildren => (
    <>
      You are {username}: {keys('create a key')}
    </>
  ),
  signIn: (link: Link): ComponentChildren => <>{link('Sign in')} to create a key</>,
  contents: 'Contents',
  languageOfSamples: 'Language of the samples',
}
