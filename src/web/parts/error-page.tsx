import type { FastifyRequest } from 'fastify'
import type { AppError, ErrorCode } from '../../core/errors.js'
import { inWords } from '../shared/answers.js'
import { Layout } from './layout.js'

const HEADINGS: Partial<Record<ErrorCode, string>> = {
  not_found: 'Nothing here',
  method_not_allowed: 'Method not allowed',
  forbidden: 'Not allowed',
  invalid_request: 'That did not work',
  rate_limited: 'Too fast',
  unavailable: 'Back in a moment',
}
const headingOf = ({ code }: AppError) => HEADINGS[code] ?? 'Something went wrong'
const sentenceOf = ({ code, message }: AppError) =>
  code === 'internal'
    ? 'The fault is ours. Try again; if it stays, tell the operator the request below.'
    : inWords(message)

export const ErrorPage = ({ error, request }: { error: AppError; request: FastifyRequest }) => (
  <NoticePage heading={headingOf(error)} request={request} requestId={request.id}>
    {sentenceOf(error)}
  </NoticePage>
)

interface NoticePageProps {
  readonly heading: string
  /** One sentence. */
  readonly children: string
  readonly request: FastifyRequest
  /** Shown where the operator may want to know it. */
  readonly requestId?: string
}

/** A page with one sentence: why there is nothing else. */
export const NoticePage = ({ heading, children, request, requestId }: NoticePageProps) => (
  <Layout title={heading} signedIn={request.signedIn ?? null} path={request.url} class="notice">
    <section class="card">
      <h1>{heading}</h1>
      <p>{children}</p>
      {requestId && (
        <p class="quiet small">
          Request <code>{requestId}</code>
        </p>
      )}
      <a class="button" href="/">
        To the front page
      </a>
    </section>
  </Layout>
)

/** The same inside of a page. */
export const ErrorNotice = ({ error }: { error: AppError }) => (
  <p class="problem" role="alert">
    {inWords(error.message)}
  </p>
)
