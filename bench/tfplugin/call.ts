import { encodeMsgpack, Value } from "@stackwright/cty";
import type { PlanResourceRequest } from "@stackwright/mux/router";
import * as t6 from "@stackwright/proto/tfplugin6";
import { createPluginClient, type PluginTransport } from "@stackwright/tfplugin";
import { latencies, printLatencies } from "@stackwright-bench/figures";
import { configuration, objectOf, resourceSchema } from "./subject.ts";

/** A transport that answers at once: what is left is the client. */
function answering(answers: Readonly<Record<string, Uint8Array>>): PluginTransport {
  const close = async () => Promise.resolve();
  return {
    protocol: 6,
    unary: async (method) => Promise.resolve(answers[method] ?? new Uint8Array()),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** What the typed client adds to a call, for an object with 50 attributes. */
export async function call(scale: number): Promise<void> {
  const { schema, type } = resourceSchema(50);
  const config = configuration(50);
  const state = objectOf(config, type);
  const msgpack = encodeMsgpack(state, type);
  const json = new Uint8Array();
  const planned = t6.PlanResourceChange_Response.encode(
    t6.PlanResourceChange_Response.fromPartial({ plannedState: { msgpack } }),
  ).finish();
  const read = t6.ReadResource_Response.encode(
    t6.ReadResource_Response.fromPartial({ newState: { msgpack } }),
  ).finish();
  const transport = answering({
    GetProviderSchema: t6.GetProviderSchema_Response.encode(schema).finish(),
    PlanResourceChange: planned,
    ReadResource: read,
  });
  const client = createPluginClient(transport, { identities: false });
  const request: PlanResourceRequest = {
    type: "bench_thing",
    prior: Value.null(type),
    config: state,
    proposed: state,
    priorPrivate: json,
    deferralAllowed: false,
  };
  const bytes = t6.PlanResourceChange_Request.encode(
    t6.PlanResourceChange_Request.fromPartial({
      typeName: "bench_thing",
      config: { msgpack },
      proposedNewState: { msgpack },
    }),
  ).finish();
  const readRequest = {
    type: "bench_thing",
    state,
    privateBytes: json,
    deferralAllowed: false,
  };
  const rows = await latencies(
    [
      {
        what: "bytes handed over, bytes received",
        call: async () => transport.unary("PlanResourceChange", bytes, {}),
      },
      { what: "read: 1 value out, 1 in", call: async () => client.read(readRequest, {}) },
      { what: "plan: 3 values out, 1 in", call: async () => client.plan(request, {}) },
    ],
    Math.round(2000 * scale),
  );
  printLatencies(
    "providers",
    `Typed client over raw bytes, object of 50 attributes (${msgpack.length} bytes of msgpack)`,
    rows,
  );
}
