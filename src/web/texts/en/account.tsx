export const account = {
  language: {
    title: 'Language',
    label: 'The website speaks',
    ofBrowser: 'The language of the browser',
    save: 'Save',
    saved: 'Your language is saved.',
  },
}
