import type { ComponentChildren } from 'preact'
import { formats, words } from './words.js'

type Link = (text: string) => ComponentChildren

const noun = {
  negativePrompt: 'a negative prompt',
  steps: 'the number of steps',
  cfgScale: 'guidance',
  sampler: 'the sampler',
}
const list = new Intl.ListFormat('en-GB')
const capital = (text: string) => `${text.charAt(0).toUpperCase()}${text.slice(1)}`

export const playground = {
  title: 'Create',
  /** Without a script. */
  reloads: 'This page is loaded anew every 3 seconds.',
  stopReloading: 'Stop that to write',
  seeProgress: 'See how far it is',
  form: {
    prompt: 'Prompt',
    describe: 'Describe the image…',
    /** After the key. */
    toWrite: 'to write',
    negativePrompt: 'Negative prompt',
    reset: 'Reset the settings',
    notify: 'Tell me when it is done',
    images: 'Images',
    tuning: 'Fine tuning',
    steps: 'Steps',
    guidance: 'Guidance (CFG)',
    sampler: 'Sampler',
    seed: 'Seed',
    random: 'Random',
  },
  tooDear: (account: Link) => (
    <>This costs more credits than you have. Draw fewer images, or see {account('your account')}.</>
  ),
  generate: 'Generate',
  generateKey: 'Ctrl ⏎',
  check: {
    because: (field: 'prompt' | 'negative_prompt', why: ComponentChildren) => (
      <>
        Moderation would refuse this {field === 'prompt' ? 'prompt' : 'negative prompt'}: {why}. Rephrase it before you
        generate.
      </>
    ),
    quoted: (word: ComponentChildren) => <>“{word}”</>,
  },
  models: {
    label: 'Model',
    search: 'Search the models',
    searchHint: 'Search the models…',
    from: (price: string): string => `from ${price}`,
    notInPlan: 'not in your plan',
    warm: 'warm',
    holds: {
      all_paused: 'paused',
      model_paused: 'paused',
      backends_paused: 'paused',
      no_backend: 'no GPU server',
      no_model: 'no GPU server',
    },
  },
  /** What a field of a model says, and what is unusual about the model. */
  facts: {
    noEffect: 'No effect',
    byDefault: (own: string): string => `Default: ${own}`,
    avoid: 'What to avoid…',
    scaled: (scale: number): string => `Its images are ${scale} times as wide and as high.`,
    ignored: (names: readonly (keyof typeof noun)[]): string =>
      `${capital(list.format(names.map((name) => noun[name])))} ${names.length === 1 ? 'has' : 'have'} no effect on it.`,
  },
  sizes: {
    label: 'Shape',
    byDefault: 'Default',
    shapes: { portrait: 'Portrait', square: 'Square', landscape: 'Landscape', tall: 'Tall', wide: 'Wide' },
    custom: 'Custom size',
    width: 'Width',
    height: 'Height',
    swap: 'Swap',
    keepRatio: 'Keep the ratio',
  },
  hold: {
    reasons: {
      all_paused: 'The operator has paused drawing for now.',
      model_paused: 'The operator has paused this model for now.',
      backends_paused: 'The operator has paused the GPU servers that draw with this model.',
      no_backend: 'No GPU server is running at the moment.',
      no_model: 'No GPU server that is running has this model at the moment.',
    },
    waits: (deadline: ComponentChildren) => (
      <>
        Your image keeps its place and is drawn once that has changed. If it can’t be drawn by {deadline} at the latest,
        it fails and you get your credits back.
      </>
    ),
    ahead: 'You can generate all the same: your image waits, and is drawn once that has changed.',
  },
  stage: {
    label: 'Generation',
    place: (place: number): string => (place <= 1 ? 'First in the queue' : `Place ${place} in the queue`),
    onHold: ', on hold',
    drawing: 'Drawing…',
    cancel: 'Cancel',
    leave: 'You can leave: it goes on without you, and is here or in the gallery when you come back.',
    progress: 'Progress',
    left: (seconds: number): string => `about ${seconds < 90 ? `${seconds} s` : `${Math.ceil(seconds / 60)} min`} left`,
    done: (seconds: number | undefined): string => (seconds === undefined ? 'Done' : `Done in ${seconds.toFixed(1)} s`),
    removed: 'Removed',
    all: 'All your images',
    canceled: 'Canceled',
    none: 'No image this time',
    notCharged: 'Nothing was charged.',
    refunded: (count: number): string => `${words.credits(count)} ${count === 1 ? 'was' : 'were'} given back to you.`,
    seedAgain: 'Use this seed again',
    /** Before the seed, to be heard. */
    use: 'Use',
    seed: (seed: number): string => `seed ${seed}`,
    remix: 'Remix',
    download: 'Download',
    free: 'The easel is free',
    nothing: 'Nothing on the easel yet',
    begin: 'Write a prompt, or begin with one of these:',
  },
  strip: { title: 'Latest images', untitled: 'Untitled' },
  code: {
    title: 'The same, as code',
    copy: 'Copy',
    about: (key: ComponentChildren, keys: Link, reference: Link) => (
      <>
        It reads your key from {key}: {keys('create one')}, or see the {reference('API reference')}.
      </>
    ),
  },
  upNext: {
    title: 'Up next',
    add: 'Add to Up next',
    save: 'Save in Up next',
    pause: 'Pause',
    goOn: 'Go on',
    clear: 'Clear',
    clearConfirm: 'Really remove all?',
    ideas: (count: number): string => `${formats.number(count)} ${count === 1 ? 'idea' : 'ideas'}`,
    pausedEmpty: 'Paused. Ideas that you add wait here until you press Go on.',
    paused: (ideas: string): string => `${ideas}. Paused: press Go on to have the first one drawn.`,
    refused: (ideas: string): string =>
      `${ideas}. Paused, because one was refused. Edit or remove it, then press Go on.`,
    waiting: (ideas: string, running: boolean): string =>
      `${ideas}. ${running ? 'The first one begins when the one above has ended' : 'The first one begins in a moment'}, also while you are away; each is charged when it begins.`,
    /** To be heard before and after an arrow. */
    move: 'Move',
    up: 'up',
    down: 'down',
    edit: 'Edit',
    remove: 'Remove',
    noModel: 'Its model is not on offer any more.',
    editing: 'You are changing an idea that is up next.',
    leave: 'Leave it as it is',
  },
  saved: {
    title: 'Saved settings',
    apply: 'Apply',
    begin: 'Save these settings…',
    manage: 'Rename or delete',
    name: 'Name of these settings',
    style: 'Style: words for the end of each prompt, if you want any',
    styleHint: 'soft watercolor, muted colours',
    what: 'Saved with the model, the shape, the negative prompt and the fine tuning; not with the prompt or the seed.',
    save: 'Save',
    replace: 'Replace them',
    newName: (name: string): string => `New name of “${name}”`,
    rename: 'Rename',
    remove: 'Delete',
    removeConfirm: 'Really delete?',
    done: (name: string): string => `Saved as “${name}”.`,
    taken: (name: string): string => `You have settings named “${name}”: choose another name, or replace them.`,
    removed: 'Deleted.',
    renamed: 'Renamed.',
    gone: 'These settings are gone: choose others.',
    notInPlan: 'Your plan does not include the model of these settings: the rest was applied.',
    notOffered: 'The model of these settings is not on offer any more: the rest was applied.',
  },
  problems: {
    noPrompt: 'Write a prompt first.',
    incomplete: 'The form is not complete: check its fields.',
    running: 'One generation is running already. Press Add to Up next to have this drawn after it, or wait.',
    modelGone: 'This model is not on offer any more. Choose another one.',
    account: 'Your account can no longer be used from here.',
    signIn: 'Sign in again.',
    plan: 'See your plan.',
    credits: 'See your credits.',
    noModels: 'No model is on offer right now. Come back a little later.',
    noneInPlan: 'No model of your plan is on offer right now.',
    lost: 'This image is not among yours, or was removed: begin with a prompt of your own.',
    begun: 'This idea is not in Up next any more: it was begun or removed.',
    notOffered: 'That model is not on offer any more: check which one is chosen.',
    notInPlan: 'Your plan does not include that model: check which one is chosen.',
  },
  /** For playground.js; # is a number. */
  script: {
    credits: { one: '# credit', other: '# credits' },
    noModel: 'No model matches: try another word.',
    image: 'Image',
    close: 'Close',
    previous: 'Previous',
    next: 'Next',
    /** Between a place and a count. */
    of: 'of',
    done: 'Done',
    imageDone: 'Your image is done',
  },
}
