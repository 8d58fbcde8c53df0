/** The proxy between this network and the internet, as HTTPS_PROXY, HTTP_PROXY and NO_PROXY name it. */
import { isInNoProxyNetwork } from '../lib/no-proxy.js'

const VARIABLES = ['https_proxy', 'HTTPS_PROXY', 'http_proxy', 'HTTP_PROXY']
/** Nothing on this machine is behind a proxy. */
const HERE = 'localhost,127.0.0.1,[::1]'

/**
 * Leads `fetch`, and what names no agent of its own, through the proxy, if there is one. What must not go there (webhooks:
 * their addresses are checked here) has its own agent.
 * @throws Error with one sentence
 */
export async function useProxy(env: NodeJS.ProcessEnv): Promise<void> {
  if (!VARIABLES.some((name) => env[name])) return
  const { Agent, EnvHttpProxyAgent, setGlobalDispatcher } = await import('undici')
  const none = env.no_proxy ?? env.NO_PROXY ?? ''
  const noProxy = none.trim() === '*' ? '*' : `${none},${HERE}`
  try {
    if (VARIABLES.some((name) => env[name] && !/^https?:\/\//i.test(env[name]))) throw new Error('no URL')
    // Only https:// needs a tunnel, and many proxies allow none for http://.
    const led = new EnvHttpProxyAgent({ noProxy, proxyTunnel: false })
    const direct = new Agent()
    setGlobalDispatcher(
      led.compose((dispatch) => (options, handler) => {
        const isDirect = isInNoProxyNetwork(new URL(options.origin ?? '').hostname)
        return isDirect ? direct.dispatch(options, handler) : dispatch(options, handler)
      }),
    )
  } catch (cause) {
    const sentence =
      cause instanceof URIError
        ? 'HTTPS_PROXY or HTTP_PROXY has a % in its user or password that stands for nothing: write it as %25.'
        : 'HTTPS_PROXY and HTTP_PROXY must be URLs, like http://proxy.example:3128.'
    throw new Error(sentence, { cause })
  }
}
