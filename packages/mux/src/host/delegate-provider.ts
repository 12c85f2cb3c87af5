import type { CallContext } from "../call-context.ts";
import type { ResourceProvider, StreamMethod } from "../resource-provider.ts";
import { unimplementedProvider } from "../unimplemented-provider.ts";

/** What stands between a caller and the provider that answers. */
interface Delegation {
  /** The provider that takes the next call; rejects when there is none. */
  target(context: CallContext): ResourceProvider | Promise<ResourceProvider>;
  /** What the caller receives for an error of a call. */
  explain(error: unknown): unknown;
  /** Called after every call that succeeded. */
  succeeded?(method: keyof ResourceProvider, request: unknown): void;
}

type AnyMethod = (request: unknown, context: CallContext) => unknown;

const STREAMS: readonly (keyof ResourceProvider)[] = [
  "list",
  "streamInvoke",
] satisfies StreamMethod[];

/** A provider whose calls all go through one place. */
export function delegateProvider(delegation: Delegation): ResourceProvider {
  const names = Object.keys(unimplementedProvider()) as (keyof ResourceProvider)[];
  const methods = names.map((name) => [
    name,
    STREAMS.includes(name) ? stream(name, delegation) : unary(name, delegation),
  ]);
  return Object.fromEntries(methods) as ResourceProvider;
}

function unary(name: keyof ResourceProvider, delegation: Delegation): AnyMethod {
  return async (request, context) => {
    const provider = await delegation.target(context);
    let reply: unknown;
    try {
      reply = await (provider[name] as AnyMethod).call(provider, request, context);
    } catch (error) {
      throw await delegation.explain(error);
    }
    delegation.succeeded?.(name, request);
    return reply;
  };
}

function stream(name: keyof ResourceProvider, delegation: Delegation): AnyMethod {
  return async function* (request, context) {
    const provider = await delegation.target(context);
    try {
      yield* (provider[name] as AnyMethod).call(
        provider,
        request,
        context,
      ) as AsyncIterable<unknown>;
    } catch (error) {
      throw await delegation.explain(error);
    }
  };
}
