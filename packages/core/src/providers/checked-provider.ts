import type { Value } from "@stackwright/cty";
import {
  type ApplyReply,
  hasProviderErrors,
  type LifecycleProvider,
  type ProviderDiagnostic,
  type ProviderSchema,
  type ResourceSchema,
} from "@stackwright/mux/router";
import { assertObject, violationsToDiagnostics } from "@stackwright/tfplugin/checks";

type Answer = { readonly state?: Value; readonly diagnostics: readonly ProviderDiagnostic[] };

/**
 * The same provider, whose objects have the type of their schema, nothing unknown and no write-only values in them. An
 * answer with another object has an error in its place. The caller of an apply checks the answer against its plan; here
 * only an answer that is not an object of the type is a rejection: then it is unknown what exists, as without an
 * answer.
 *
 * Source: Terraform's rules for ReadResource, ImportResourceState, UpgradeResourceState, MoveResourceState, ReadDataSource.
 */
export function checkedProvider(
  provider: LifecycleProvider,
  { resources, dataSources }: ProviderSchema,
  source: string,
): LifecycleProvider {
  const problemsOf = (state: Value, schema: ResourceSchema, type: string): ProviderDiagnostic[] =>
    violationsToDiagnostics(
      assertObject({ block: schema.block, object: state }).violations,
      "object",
      `${type} (${source})`,
    );
  const check = <R extends Answer>(
    reply: R,
    type: string,
    schema: ResourceSchema | undefined,
    mayBeNull: boolean,
  ): R => {
    const { state, diagnostics } = reply;
    if (state === undefined || schema === undefined || hasProviderErrors(diagnostics)) return reply;
    if (mayBeNull && state.isNull) return reply;
    const problems = problemsOf(state, schema, type);
    if (problems.length === 0 && !state.isNull) return reply;
    const { state: _state, ...rest } = reply;
    const found = problems.length > 0 ? problems : [nothing(type, source)];
    return { ...rest, diagnostics: [...diagnostics, ...found] } as unknown as R;
  };
  const checked: Partial<LifecycleProvider> = {
    upgrade: async (request, context) => {
      const { type } = request;
      return check(await provider.upgrade(request, context), type, resources.get(type), false);
    },
    move: async (request, context) => {
      const type = request.targetType;
      return check(await provider.move(request, context), type, resources.get(type), false);
    },
    read: async (request, context) => {
      const { type } = request;
      return check(await provider.read(request, context), type, resources.get(type), true);
    },
    readDataSource: async (request, context) => {
      const { type } = request;
      const reply = await provider.readDataSource(request, context);
      return check(reply, type, dataSources.get(type), false);
    },
    import: async (request, context) => {
      const reply = await provider.import(request, context);
      const problems = reply.objects.flatMap(({ type, state }) => {
        const schema = resources.get(type);
        return schema === undefined || state.isNull ? [] : problemsOf(state, schema, type);
      });
      if (problems.length === 0) return reply;
      return { ...reply, objects: [], diagnostics: [...reply.diagnostics, ...problems] };
    },
    apply: async (request, context): Promise<ApplyReply> => {
      const reply = await provider.apply(request, context);
      const schema = resources.get(request.type);
      if (schema === undefined || reply.state.isNull) return reply;
      const { violations, object } = assertObject({ block: schema.block, object: reply.state });
      const mismatch = violations.find(({ rule }) => rule === "type");
      if (mismatch !== undefined) {
        throw new TypeError(
          `the provider returned a value that is not a valid ${request.type}: ${mismatch.message}`,
        );
      }
      // What is left after a delete is recorded as it is.
      return request.planned.isNull ? { ...reply, state: object } : reply;
    },
  };
  return new Proxy(provider, {
    get: (target, name) => {
      const own: unknown = Reflect.get(checked, name);
      if (own !== undefined) return own;
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === "function" ? (member.bind(target) as unknown) : member;
    },
  });
}

function nothing(type: string, source: string): ProviderDiagnostic {
  return {
    severity: "error",
    summary: "Provider produced invalid object",
    detail: `${type} (${source}): there is no object in the answer. This is a bug in the provider.`,
  };
}
