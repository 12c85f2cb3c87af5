import type { Transformation } from "../context.ts";
import type { KrtError } from "../errors.ts";
import type { Runtime } from "../runtime.ts";
import { createRuntime } from "../runtime.ts";

/**
 * Runs a transformation over some inputs in a strict runtime and returns what it did against the rules:
 * results that differ from run to run, reads without fetch, changed inputs, ambient state, promises.
 * `build` makes what it fetches from, and returns the transformation.
 */
export function checkTransformation<I, O>(
  inputs: Iterable<I>,
  build: (runtime: Runtime) => Transformation<I, O>,
): readonly KrtError[] {
  const found: KrtError[] = [];
  using runtime = createRuntime({ strict: "full", onError: (error) => found.push(error) });
  const transformation = build(runtime);
  const source = runtime.source<{ readonly key: string; readonly input: I }>(
    Array.from(inputs, (input, i) => ({ key: `${i}`, input })),
    { name: "inputs" },
  );
  runtime.derive(
    source,
    (context, { key, input }) => ({ key, output: transformation(context, input) }),
    { name: "transformation" },
  );
  return found;
}
