import type { FastifyRequest } from 'fastify'

/** Whether htmx asks, which puts the answer into a page that is open. */
export const isFragment = ({ headers }: Pick<FastifyRequest, 'headers'>): boolean => headers['hx-request'] === 'true'
