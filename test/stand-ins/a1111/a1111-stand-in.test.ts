import sharp from 'sharp'
import { expect, it } from 'vitest'
import { givenBackend } from '../../inference/a1111/given.js'
import { PONY } from '../../inference/given.js'

it('draws PNGs that are not of one colour, and black ones on request, with its parameters in a text chunk', async () => {
  const { standIn, generate } = await givenBackend()
  const [image] = await generate({ prompt: 'été' })
  const { format, width, height } = await sharp(image?.bytes).metadata()
  expect({ format, width, height }).toEqual({ format: 'png', width: 64, height: 64 })
  expect(image?.bytes.toString('latin1')).toContain(
    'tEXtparameters\0été\nNegative prompt: blurry\nSteps: 20, Sampler: Euler a',
  )
  expect((await sharp(image?.bytes).stats()).channels[0]?.stdev).toBeGreaterThan(20)
  standIn.set({ fault: 'black' })
  const [black] = await generate()
  expect((await sharp(black?.bytes).stats()).channels.map(({ max }) => max)).toEqual([0, 0, 0])
})

it('hits only as many requests with a fault as it is told', async () => {
  const { standIn, generate } = await givenBackend()
  standIn.set({ fault: 'drop', times: 2 })
  const outcomes = await Promise.allSettled([generate(), generate()])
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect(await generate()).toHaveLength(1)
})

it('draws one image at a time', async () => {
  const { standIn, generate } = await givenBackend()
  const images = await Promise.all([1, 2, 3].map((seed) => generate({ seeds: [seed], model: PONY })))
  expect(images.flat().map(({ seed }) => seed)).toEqual([1, 2, 3])
  expect(standIn.mostAtOnce()).toBe(1)
})
