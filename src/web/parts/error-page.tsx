import type { FastifyRequest } from 'fastify'
import type { AppError, ErrorCode } from '../../core/errors.js'
import { inWords } from '../texts/refusals.js'
import { type Texts, useTexts } from '../texts/texts.js'
import { Layout } from './layout.js'

const headingOf = ({ code }: AppError, { parts: { errors } }: Texts): string =>
  (errors.headings as Partial<Record<ErrorCode, string>>)[code] ?? errors.other
const sentenceOf = ({ code, message }: AppError, texts: Texts): string =>
  code === 'internal' ? texts.parts.errors.internal : inWords(message, texts)

export const ErrorPage = ({ error, request }: { error: AppError; request: FastifyRequest }) => {
  const texts = useTexts()
  return (
    <NoticePage heading={headingOf(error, texts)} request={request} requestId={request.id}>
      {sentenceOf(error, texts)}
    </NoticePage>
  )
}

interface NoticePageProps {
  readonly heading: string
  /** One sentence. */
  readonly children: string
  readonly request: FastifyRequest
  /** Shown where the operator may want to know it. */
  readonly requestId?: string
}

/** A page with one sentence: why there is nothing else. */
export const NoticePage = ({ heading, children, request, requestId }: NoticePageProps) => {
  const { errors } = useTexts().parts
  return (
    <Layout title={heading} signedIn={request.signedIn ?? null} path={request.url} class="notice">
      <section class="card">
        <h1>{heading}</h1>
        <p>{children}</p>
        {requestId && (
          <p class="quiet small">
            {errors.request} <code>{requestId}</code>
          </p>
        )}
        <a class="button" href="/">
          {errors.home}
        </a>
      </section>
    </Layout>
  )
}

/** The same inside of a page. */
export const ErrorNotice = ({ error }: { error: AppError }) => (
  <p class="problem" role="alert">
    {inWords(error.message, useTexts())}
  </p>
)
