import { it } from 'vitest'
import { useService } from '../support/service.js'
import { expectRefused, expectStored, SEED } from './made-up-requests.js'

const context = useService({ env: { RATE_LIMIT_MAX: '1000000' } })

it.each(['personal', 'create'] as const)(
  `the %s interface refuses hundreds of bodies made up at random, charging nothing (seed ${SEED})`,
  (shape) => expectRefused(context.service, shape, 300),
)

it(`the Personal Access API stores dozens of odd but valid requests as they came (seed ${SEED})`, () =>
  expectStored(context.service, 60))
