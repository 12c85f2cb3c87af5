import type { FastifyInstance } from "fastify";

/**
 * Refuses to mount a plugin on an instance that would answer its longest addresses by 414: fastify allows path
 * parameters of 100 characters unless configured otherwise.
 */
export function requireParamLength(fastify: FastifyInstance, length: number): void {
  const config = fastify.initialConfig as {
    readonly maxParamLength?: number;
    readonly routerOptions?: { readonly maxParamLength?: number };
  };
  const allowed = config.routerOptions?.maxParamLength ?? config.maxParamLength ?? 100;
  if (allowed < length) {
    throw new TypeError(`routerOptions.maxParamLength has to be ${length}, and is ${allowed}`);
  }
}
