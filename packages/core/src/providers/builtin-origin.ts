import type { Value } from "@stackwright/cty";
import {
  createFunctionTable,
  createScope,
  evaluate,
  hasErrors,
  parseFile,
} from "@stackwright/lang";
import type { LifecycleProvider, NamedLifecycleProvider } from "@stackwright/mux/router";
import {
  BUILTIN_ADDRESS,
  type BuiltinProviderOptions,
  createBuiltinProvider,
  httpStateBackend,
  localStateBackend,
} from "@stackwright/tfplugin/builtin";
import type { ProviderOrigin } from "./catalog.ts";
import { adoptedBackend, stackBackend } from "./stack-backend.ts";

/**
 * The provider that every template has, without a version. Its data source for outputs of other states knows, besides the
 * given backends, the stacks of the store (`stackwright`).
 */
export function builtinOrigin(
  options: Omit<BuiltinProviderOptions, "readTfvars"> = {},
): ProviderOrigin {
  const backends = options.backends ?? [localStateBackend(), httpStateBackend()];
  return {
    name: "built in",
    handles: (source) => source.toString() === BUILTIN_ADDRESS,
    select: async () => Promise.resolve(""),
    open: async ({ source }, { inputs } = {}) => {
      const known =
        inputs === undefined
          ? backends
          : [stackBackend(inputs), ...backends.map((backend) => adoptedBackend(backend, inputs))];
      const provider = createBuiltinProvider({
        ...options,
        backends: known,
        readTfvars,
      });
      return Promise.resolve([{ name: source, provider }]);
    },
  };
}

/** Providers that are code of the calling program, such as those made with the provider kit; by source, without versions. */
export function inProcessOrigin(
  name: string,
  providers: Readonly<Record<string, () => LifecycleProvider | Promise<LifecycleProvider>>>,
): ProviderOrigin {
  return {
    name,
    handles: (source) => Object.hasOwn(providers, source.toString()),
    select: async () => Promise.resolve(""),
    async open({ source }) {
      const create = providers[source];
      if (create === undefined) throw new TypeError(`there is no program for ${source}`);
      const provider: NamedLifecycleProvider = { name: source, provider: await create() };
      return [provider];
    },
  };
}

/** Reads the syntax of a `.tfvars` file, whose expressions refer to nothing and call nothing. */
function readTfvars(text: string): ReadonlyMap<string, Value> | string {
  const { body, diagnostics } = parseFile({ name: "<tfvars>", text });
  const problem = diagnostics.find(({ severity }) => severity === "error");
  if (problem !== undefined) return `${problem.summary}: ${problem.detail}`;
  const scope = createScope({
    functions: createFunctionTable([], { maxStringLength: 32 * 1024 * 1024 }),
  });
  const values = new Map<string, Value>();
  for (const item of body.items) {
    if (item.kind !== "attribute") return "There are no blocks in a file of variables.";
    const result = evaluate(item.expression, scope);
    if (hasErrors(result.diagnostics)) {
      const [first] = result.diagnostics;
      return `${first?.summary}: ${first?.detail}`;
    }
    values.set(item.name, result.value);
  }
  return values;
}
