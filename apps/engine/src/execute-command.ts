import { Socket } from "node:net";
import process from "node:process";
import { parseArgs } from "node:util";
import { EngineError } from "@stackwright/core/errors";
import { runPod } from "./executor/kubernetes/run-pod.ts";
import { runExecutor } from "./executor/run-executor.ts";

const STDOUT_FD = 1;

interface ExecuteParts {
  readonly env: NodeJS.ProcessEnv;
  /** Aborting ends the step of a pod. */
  readonly signal: AbortSignal;
}

/**
 * Executes one step of a run. Without arguments a worker gives it over standard input and is answered over standard output, which ends the
 * process: what a worker starts in a container. Whatever else writes to standard output writes to standard error. With arguments, those
 * of a pod, the worker is called; resolves with the exit code then.
 */
export async function runExecuteCommand(
  args: readonly string[],
  { env, signal }: ExecuteParts,
): Promise<number> {
  if (args.length > 0) return runPod({ ...podOptionsOf(args), env, signal });
  const events = new Socket({ fd: STDOUT_FD, readable: false, writable: true });
  process.stdout.write = process.stderr.write.bind(process.stderr);
  // The first process of a container cannot be killed from within; all others end with it.
  await runExecutor({ control: process.stdin, events, kill: () => process.exit(1) });
  return 0;
}

function podOptionsOf(args: readonly string[]) {
  const options = {
    worker: { type: "string" },
    name: { type: "string" },
    "key-file": { type: "string" },
    directory: { type: "string" },
    "memory-bytes": { type: "string" },
  } as const;
  const { values } = parse(args, options);
  const need = (name: keyof typeof values): string => {
    const { [name]: value } = values;
    if (value !== undefined) return value;
    throw invalid(`the option --${name} is missing`);
  };
  const { "memory-bytes": memory } = values;
  if (memory !== undefined && !/^[0-9]{1,15}$/.test(memory)) {
    throw invalid("--memory-bytes takes a number");
  }
  const address = need("worker");
  if (!URL.canParse(`tls://${address}`)) throw invalid("--worker takes HOST:PORT");
  return {
    address,
    name: need("name"),
    keyFile: need("key-file"),
    directory: need("directory"),
    ...(memory !== undefined && { maxMemoryBytes: Number(memory) }),
  };
}

function parse<O extends NonNullable<Parameters<typeof parseArgs>[0]>["options"] & object>(
  args: readonly string[],
  options: O,
) {
  try {
    return parseArgs({ args: [...args], options, strict: true });
  } catch (error) {
    throw invalid(error instanceof Error ? error.message : String(error));
  }
}

function invalid(message: string): EngineError {
  return new EngineError(
    "ENGINE_CONFIG_INVALID",
    `${message}; a worker makes the options of a pod`,
  );
}
