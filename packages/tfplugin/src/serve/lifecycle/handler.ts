import type { Type, Value } from "@stackwright/cty";
import type { LifecycleContext, ProviderDiagnostic } from "@stackwright/mux/router";
import type * as t6 from "@stackwright/proto/tfplugin6";
import { valueToWire } from "../../wire/dynamic-value.ts";
import type { PluginMethod, PluginMethods } from "../../wire/methods.ts";

/** Answers a request; `failed` makes the answer where the provider cannot give one. */
export interface Handler<Request, Response> {
  answer(request: Request, context: LifecycleContext): Promise<Response>;
  failed(diagnostics: t6.Diagnostic[], request: Request): Response;
}

type RequestOf<M> = M extends PluginMethod<infer Request, infer _> ? Request : never;
type ResponseOf<M> = M extends PluginMethod<infer _, infer Response> ? Response : never;

/** One handler per method of the protocol. */
export type LifecycleHandlers = {
  readonly [K in keyof PluginMethods]: Handler<
    RequestOf<PluginMethods[K]>,
    ResponseOf<PluginMethods[K]>
  >;
};

export const NO_BYTES: Uint8Array = new Uint8Array();

/** A value that a reply may leave out. */
export function optionalToWire(value: Value | undefined, type: Type): t6.DynamicValue | undefined {
  return value && valueToWire(value, type);
}

/**
 * The diagnostic of a rejection of the provider: users see it as any other error of the provider. An error of the call
 * would be shown as a defect of the program.
 */
export function failureToDiagnostic(error: unknown): ProviderDiagnostic {
  const detail = error instanceof Error ? error.message : String(error);
  return { severity: "error", summary: "The provider could not answer", detail };
}
