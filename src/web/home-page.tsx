import { page } from './page.js'

/** The front page: what this is, and the first request to make. */
export const homePage = (baseUrl: string): string =>
  page(
    'Image generation',
    <>
      <meta name="description" content="Easel generates images from text prompts through an HTTP API." />
      <link rel="canonical" href={baseUrl} />
    </>,
    <main class="home">
      <section>
        <h1>Images from text, over HTTP</h1>
        <p>Submit a prompt with your API key, poll until it has succeeded, and keep the link: it is permanent.</p>
        <pre>{`curl ${baseUrl}/api/v1/generate \\
  -H "Authorization: Bearer $EASEL_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"prompt": "a lighthouse at dusk", "model_version_id": 10}'`}</pre>
        <p class="note">
          <code>GET /api/v1/models</code> lists the models, <code>GET /api/v1/account</code> your credits.
        </p>
      </section>
    </main>,
  )
