import type { OpenAPIV3_1 } from 'openapi-types'

/** Makes the document, once the routes are registered. */
export type DescribeApi = () => Promise<OpenAPIV3_1.Document>

/** Of the interfaces that generate, and of /admin/v1. */
export interface Descriptions {
  readonly api: DescribeApi
  readonly admin: DescribeApi
}
