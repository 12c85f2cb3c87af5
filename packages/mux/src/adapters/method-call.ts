import type { Value } from "@stackwright/cty";
import {
  decodeStruct,
  type PropertyMap,
  type PropertyValue,
  resourceProperty,
  stringProperty,
} from "@stackwright/proto/property";
import { CallRequest } from "@stackwright/proto/pulumirpc";
import { ComponentRun } from "../components/component-run.ts";
import { runOf, startResourceMonitor } from "../components/resource-monitor.ts";
import type { LifecycleContext } from "../router/lifecycle-provider.ts";
import { ProviderFailure } from "../router/provider-failure.ts";
import type { Member } from "./package.ts";
import { fromProperties, toProperties } from "./property-values.ts";
import { callContext, EMPTY, type PulumiAdapterSession, resourceUrn } from "./pulumi-session.ts";
import { failuresToDiagnostics } from "./replies.ts";

/** The argument by which a method gets the resource that it belongs to. */
export const SELF_ARGUMENT = "__self__";

/** The method of a resource type. */
export interface MethodOf {
  /** The token of the type. */
  readonly type: string;
  /** The attribute with the resource. */
  readonly self: string;
}

/** Calls a method of a resource, which is one of the attributes. */
export async function callMethod(
  session: PulumiAdapterSession,
  { token, shapes, method }: Member & { readonly method: MethodOf },
  config: Value,
  context: LifecycleContext,
) {
  const given = toProperties(shapes.inputs, config);
  const { urn, id, object } = resourceOf(method, given.get(method.self));
  const args = new Map(given);
  args.delete(method.self);
  args.set(SELF_ARGUMENT, resourceProperty({ urn, type: method.type, ...(id && { id }) }));
  const call = { peer: session, context: callContext(context), dryRun: false, seed: "" };
  const run = new ComponentRun(call, []);
  run.setOutputs(urn, object);
  run.refuse(`${token} is a method, and cannot make resources`);
  await using monitor = await startResourceMonitor(call, run);
  const reply = await session.provider.call(
    CallRequest.create({
      ...runOf(call, monitor.address),
      tok: token,
      args: session.encode(args),
    }),
    call.context,
  );
  if (reply.failures.length > 0) return { diagnostics: failuresToDiagnostics(reply.failures) };
  const outputs = decodeStruct(reply.return ?? EMPTY);
  const { value, sensitive } = fromProperties(shapes.all, new Map([...given, ...outputs]));
  return { state: value, sensitive };
}

function resourceOf({ type, self }: MethodOf, value: PropertyValue | undefined) {
  const object: PropertyMap = value?.kind === "map" ? value.entries : new Map();
  const urn = object.get("urn") ?? object.get("component_urn");
  if (urn?.kind === "string") return { urn: urn.value, object };
  const id = object.get("id");
  if (id?.kind === "string") {
    return { urn: resourceUrn(type, undefined), id: stringProperty(id.value), object };
  }
  throw new ProviderFailure(
    "Resource needed",
    `"${self}" is the resource whose method is called, such as ${self} = TYPE.NAME.`,
  );
}
