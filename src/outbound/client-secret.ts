/** The ways to show an identity provider the client's secret. */
import type { ClientAuth, ServerMetadata } from 'openid-client'

type Library = Pick<typeof import('openid-client'), 'ClientSecretBasic' | 'ClientSecretPost' | 'ClientSecretJwt'>

/**
 * `plain`: the ID and the secret in `Authorization: Basic` as they are. By OAuth they must be encoded first, which changes all
 * signs but letters and digits, and some providers do not decode them.
 */
type Way = 'basic' | 'post' | 'plain' | 'jwt'

/** The ways that a provider may take, the likeliest first: some take only that which is set for the client. */
export function waysAt({
  token_endpoint_auth_methods_supported: said,
}: Pick<ServerMetadata, 'token_endpoint_auth_methods_supported'>) {
  const takes = (method: string) => !Array.isArray(said) || said.includes(method)
  const ways: Way[] = []
  if (takes('client_secret_basic')) ways.push('basic')
  if (takes('client_secret_post')) ways.push('post')
  if (takes('client_secret_basic')) ways.push('plain')
  if (Array.isArray(said) && takes('client_secret_jwt')) ways.push('jwt')
  return ways
}

/** Shows the secret in one of the ways that the provider may take. */
export function showSecret(library: Library, secret: string, way: number): ClientAuth {
  const ways: Readonly<Record<Way, ClientAuth>> = {
    basic: library.ClientSecretBasic(secret),
    post: library.ClientSecretPost(secret),
    plain: (_server, { client_id }, _body, headers) =>
      headers.set('authorization', `Basic ${Buffer.from(`${client_id}:${secret}`).toString('base64')}`),
    jwt: library.ClientSecretJwt(secret),
  }
  return (server, ...rest) => {
    const able = waysAt(server)
    // A provider that takes no secret at all refuses this one, and its words say why.
    return ways[able[way % able.length] ?? 'basic'](server, ...rest)
  }
}
