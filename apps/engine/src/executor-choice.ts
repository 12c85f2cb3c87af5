import { createHash } from "node:crypto";
import { join } from "node:path";
import type { Clock } from "@stackwright/base/clock";
import type { Logger } from "@stackwright/base/logger";
import { EngineError } from "@stackwright/core/errors";
import { createChildExecutor } from "./executor/child-executor.ts";
import { type ContainerOptions, createContainerExecutor } from "./executor/container-executor.ts";
import type { Executor } from "./executor/executor.ts";

/** Executors in processes of their own. */
export type ApartKind = "child" | "container";

/** What the operator says of containers; without them nothing has to be said. */
export type ContainerChoice = Omit<ContainerOptions, "image"> & {
  readonly image?: string | undefined;
};

interface ExecutorChoice {
  readonly kind: ApartKind;
  /** Needed for containers. */
  readonly container?: ContainerChoice | undefined;
  /** The store that the executions are for, by whatever names it. */
  readonly store: string;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly env: NodeJS.ProcessEnv;
  /** Folder of the worker. */
  readonly directory: string;
  readonly maxMemoryBytes: number;
}

/** Makes the executor that the operator chose. `ENGINE_CONFIG_INVALID` for containers without an image. */
export function openExecutor({
  kind,
  container,
  store,
  directory,
  ...parts
}: ExecutorChoice): Executor {
  if (kind === "child") {
    return createChildExecutor({ ...parts, compileCache: join(directory, "compile-cache") });
  }
  const { image } = container ?? {};
  if (image === undefined) {
    throw new EngineError(
      "ENGINE_CONFIG_INVALID",
      "the executor container needs an image that has stackwright: set --container-image",
    );
  }
  const instance = createHash("sha256").update(`${store}\n${directory}`).digest("hex");
  return createContainerExecutor({
    ...parts,
    ...container,
    image,
    instance: instance.slice(0, 16),
  });
}
