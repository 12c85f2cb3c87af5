import { TfpluginError } from "../errors.ts";
import type { PluginTransport, TransportCall } from "../transport/plugin-transport.ts";
import { PLUGIN_METHODS, type PluginMethod, type PluginMethods } from "../wire/methods.ts";

/** One call that a transport has carried. */
export interface CarriedCall {
  readonly method: string;
  readonly bytes: Uint8Array;
  readonly call: TransportCall;
}

type Script = {
  readonly [K in keyof PluginMethods]?: PluginMethods[K] extends PluginMethod<
    infer Request,
    infer Response
  >
    ? (request: Request) => Response | Uint8Array | Promise<Response | Uint8Array>
    : never;
};

/**
 * A provider that answers what a test says, as messages or as bytes, and keeps what it was asked. Methods without an
 * answer do not exist.
 */
export class ScriptedTransport implements PluginTransport {
  readonly protocol: 5 | 6;
  readonly calls: CarriedCall[] = [];
  readonly #script: Script;
  closed = 0;

  constructor(protocol: 5 | 6, script: Script) {
    this.protocol = protocol;
    this.#script = script;
  }

  async unary(name: string, bytes: Uint8Array, call: TransportCall): Promise<Uint8Array> {
    call.signal?.throwIfAborted();
    this.calls.push({ method: name, bytes, call });
    const methods = PLUGIN_METHODS[this.protocol];
    const keys = Object.keys(methods) as (keyof PluginMethods)[];
    const key = keys.find((candidate) => methods[candidate].name === name);
    const answer = key && (this.#script[key] as ((request: unknown) => unknown) | undefined);
    if (key === undefined || answer === undefined) {
      throw new TfpluginError("TFPLUGIN_METHOD_UNIMPLEMENTED", `no ${name}`, { subject: name });
    }
    const method = methods[key] as PluginMethod<unknown, unknown>;
    const reply = await answer(method.request.decode(bytes));
    return reply instanceof Uint8Array ? reply : method.response.encode(reply).finish();
  }

  /** The requests of one method, decoded. */
  requests<K extends keyof PluginMethods>(
    key: K,
  ): readonly (PluginMethods[K] extends PluginMethod<infer Request, unknown> ? Request : never)[] {
    const method = PLUGIN_METHODS[this.protocol][key];
    return this.calls
      .filter(({ method: name }) => name === method.name)
      .map(({ bytes }) => method.request.decode(bytes)) as never;
  }

  async close(): Promise<void> {
    this.closed += 1;
    return Promise.resolve();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
