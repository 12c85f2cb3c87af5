import { detailType } from "@stackwright/proto/grpc";
import { decodeStruct } from "@stackwright/proto/property";
import {
  CreateRequest,
  DeleteRequest,
  ErrorResourceInitFailed,
  UpdateRequest,
} from "@stackwright/proto/pulumirpc";
import { toRpcError } from "../broadcast.ts";
import { isStateUnknown } from "../is-state-unknown.ts";
import type { ApplyResourceRequest, LifecycleContext } from "../router/lifecycle-provider.ts";
import { failureToDiagnostic, ProviderFailure } from "../router/provider-failure.ts";
import type { MemberShapes } from "./package-types.ts";
import { decodePrivate, encodePrivate } from "./private-inputs.ts";
import { type ConvertedObject, toProperties } from "./property-values.ts";
import { callContext, idOf, type PulumiAdapterSession } from "./pulumi-session.ts";
import { rpcDiagnostic } from "./replies.ts";

const INIT_FAILED = detailType("pulumirpc.ErrorResourceInitFailed", ErrorResourceInitFailed);

/** Creates, updates or deletes, with the inputs that the plan checked. */
export async function change(
  session: PulumiAdapterSession,
  shapes: MemberShapes,
  urn: string,
  { prior, planned, plannedPrivate }: ApplyResourceRequest,
  context: LifecycleContext,
): Promise<ConvertedObject> {
  const { inputs, prior: oldInputs = new Map() } = decodePrivate(plannedPrivate);
  const news = session.encode(inputs);
  const call = callContext(context);
  if (planned.isNull) {
    const properties = session.encode(toProperties(shapes.stored, prior));
    await session.provider.delete(
      DeleteRequest.create({ id: idOf(prior), urn, properties, oldInputs: news }),
      call,
    );
    return { value: planned, sensitive: [] };
  }
  if (prior.isNull) {
    const { id, properties } = await session.provider.create(
      CreateRequest.create({ urn, properties: news }),
      call,
    );
    return session.object(shapes, id, properties, inputs);
  }
  const { properties } = await session.provider.update(
    UpdateRequest.create({
      id: idOf(prior),
      urn,
      olds: session.encode(toProperties(shapes.stored, prior)),
      oldInputs: session.encode(oldInputs),
      news,
    }),
    call,
  );
  return session.object(shapes, idOf(prior), properties, inputs);
}

/** The object after a failed change, as far as the error describes it. */
export function failedChange(
  session: PulumiAdapterSession,
  shapes: MemberShapes,
  request: ApplyResourceRequest,
  error: unknown,
) {
  if (error instanceof ProviderFailure) {
    return {
      diagnostics: [failureToDiagnostic(error)],
      state: request.prior,
      privateBytes: priorPrivate(request),
    };
  }
  const failure = toRpcError(error);
  const [half] = failure.findDetails(INIT_FAILED);
  if (half !== undefined) {
    const { value } = session.object(shapes, half.id, half.properties);
    const detail = half.reasons.join("\n");
    return {
      diagnostics: [{ severity: "error" as const, summary: failure.rawMessage, detail }],
      state: value,
      privateBytes:
        half.inputs === undefined
          ? keptPrivate(request)
          : encodePrivate({ inputs: decodeStruct(half.inputs) }),
    };
  }
  if (isStateUnknown(failure, request.prior.isNull)) throw error;
  return {
    diagnostics: [rpcDiagnostic(failure)],
    state: request.prior,
    privateBytes: priorPrivate(request),
  };
}

/** Private bytes of what a change made: its inputs, without those before it. */
export function keptPrivate({ plannedPrivate }: ApplyResourceRequest): Uint8Array {
  return encodePrivate({ inputs: decodePrivate(plannedPrivate).inputs });
}

/** After a change that did not happen, the object has the inputs that it had. */
function priorPrivate({ plannedPrivate }: ApplyResourceRequest): Uint8Array {
  const { inputs, prior } = decodePrivate(plannedPrivate);
  return encodePrivate({ inputs: prior ?? inputs });
}
