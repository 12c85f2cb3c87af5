import type { RunHook, RunHooks } from "@stackwright/proto/stackwright";
import { type Static, Type } from "typebox";
import { ServerError } from "../../domain/server-error.ts";
import type { HookStage } from "../../executor/execution-job.ts";
import { STORED_STAGES } from "../../worker/run-hooks.ts";
import { timeOf } from "../runs/run-view.ts";

const Stages = Type.Union(
  [
    Type.Literal("before_plan"),
    Type.Literal("after_plan"),
    Type.Literal("before_apply"),
    Type.Literal("after_apply"),
  ],
  { title: "HookStage" },
);

const Hook = Type.Object(
  {
    name: Type.String({ pattern: "^[a-z0-9][a-z0-9-]{0,62}$" }),
    stage: Stages,
    command: Type.Optional(
      Type.Array(Type.String({ maxLength: 4_096 }), {
        minItems: 1,
        maxItems: 64,
        description: "the program and its arguments, without a shell",
      }),
    ),
    script: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 65_536,
        description: "executed by the shell with -e, or by what its first line names",
      }),
    ),
    timeout_seconds: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 3_600, description: "300 by default" }),
    ),
    on_failure: Type.Optional(
      Type.Union([Type.Literal("fail"), Type.Literal("warn")], {
        description: "what a failure does to the run; fail by default",
      }),
    ),
    environment: Type.Optional(
      Type.Record(
        Type.String({ pattern: "^[A-Za-z_][A-Za-z0-9_]{0,127}$" }),
        Type.String({ maxLength: 4_096 }),
        {
          maxProperties: 50,
          description: "no secrets: those are sensitive variables of the stack",
        },
      ),
    ),
  },
  { additionalProperties: false, title: "RunHook" },
);

export const HookList = Type.Object(
  { hooks: Type.Array(Hook, { maxItems: 20, description: "in the order of their execution" }) },
  { additionalProperties: false, title: "RunHookList" },
);

export const HooksView = Type.Object(
  {
    hooks: Type.Array(Hook),
    actor: Type.Optional(Type.String()),
    updated_at: Type.Optional(Type.String()),
  },
  { title: "RunHooks" },
);

const TIMEOUT_SECONDS = 300;

/** `unprocessable` for a hook that has not exactly one of command and script. */
export function storedHookOf(hook: Static<typeof Hook>): RunHook {
  const { name, stage, command = [], script = "", environment = {} } = hook;
  if ((command.length === 0) === (script === "")) {
    throw new ServerError("unprocessable", `the hook "${name}" needs either command or script`);
  }
  const [program = ""] = command;
  const isOdd = [script, ...command, ...Object.values(environment)].some((text) =>
    text.includes("\0"),
  );
  if (isOdd || (command.length > 0 && program === "")) {
    throw new ServerError("unprocessable", `the hook "${name}" cannot be executed`);
  }
  const reserved = Object.keys(environment).find((key) => key.startsWith("STACKWRIGHT_"));
  if (reserved !== undefined) {
    throw new ServerError("unprocessable", `the variable "${reserved}" is set by the server`);
  }
  return {
    name,
    stage: STORED_STAGES[stage],
    command,
    script,
    timeoutSeconds: hook.timeout_seconds ?? TIMEOUT_SECONDS,
    onlyWarns: hook.on_failure === "warn",
    environment: new Map(Object.entries(environment)),
  };
}

export function hooksViewOf({ hooks, actor, updatedAtMs }: RunHooks): Static<typeof HooksView> {
  const stages = Object.keys(STORED_STAGES) as HookStage[];
  return {
    hooks: hooks.map((hook) => ({
      name: hook.name,
      stage: stages.find((one) => STORED_STAGES[one] === hook.stage) ?? "before_plan",
      ...(hook.command.length > 0 && { command: hook.command }),
      ...(hook.script !== "" && { script: hook.script }),
      timeout_seconds: hook.timeoutSeconds,
      on_failure: hook.onlyWarns ? ("warn" as const) : ("fail" as const),
      ...(hook.environment.size > 0 && { environment: Object.fromEntries(hook.environment) }),
    })),
    actor,
    updated_at: timeOf(updatedAtMs),
  };
}
