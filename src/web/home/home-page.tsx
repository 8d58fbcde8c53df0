import { Layout } from '../layout.js'

/** What this is, and the first request to make. */
export const HomePage = ({ baseUrl }: { baseUrl: string }) => (
  <Layout
    title="Image generation"
    signedIn={null}
    path="/"
    listed
    class="home"
    head={
      <>
        <meta name="description" content="Easel generates images from text prompts, in the browser or over HTTP." />
        <link rel="canonical" href={baseUrl} />
      </>
    }
  >
    <section class="hero">
      <h1>Images from words</h1>
      <p class="lead">Write what you want to see. Watch it being drawn. Keep the link: it is permanent.</p>
      <p class="actions">
        <a class="button primary" href="/sign-in">
          Sign in
        </a>
        <a class="button" href="/docs">
          Read the API reference
        </a>
      </p>
    </section>
    <section class="card">
      <h2>The same, from your own program</h2>
      <pre>{`curl ${baseUrl}/api/v1/generate \\
  -H "Authorization: Bearer $EASEL_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"prompt": "a lighthouse at dusk", "model_version_id": 10}'`}</pre>
    </section>
  </Layout>
)
