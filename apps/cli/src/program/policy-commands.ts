import type { Command } from "commander";
import type { PolicyPublishOptions, PolicySetOptions } from "../commands/policy.ts";
import type { ServerStackOptions } from "../runs/run-place.ts";
import type { CommandAction, Define } from "./program.ts";
import { collect } from "./run-commands.ts";
import { withServerOptions } from "./server-run-commands.ts";
import { withServer } from "./with-server.ts";

/** Commands about the policies that judge plans on a server. */
export function definePolicyCommands(define: Define, run: CommandAction): void {
  const policy = define("policy", "policies that judge the plans of a server");

  withServer(define("list", "list the policy sets of the account", policy)).action(
    async (options: PolicySetOptions, command: Command) => {
      const { policyList } = await import("../commands/policy.ts");
      await run(command, async (context) => policyList(options, context));
    },
  );

  withServer(
    define("publish <name> [file]", "create or change a policy set, and upload policies", policy),
  )
    .option("--enforcement <what>", "advisory, overridable or mandatory (default)")
    .option("--override-role <role>", "operator or admin (default) may override")
    .option("--for-project <pattern>", "projects that it is for; may be repeated", collect, [])
    .option("--for <pattern>", "stacks that it is for, such as web-*; may be repeated", collect, [])
    .option("--for-all", "for all stacks of the account", false)
    .option("--description <text>", "explanation of the set")
    .option("--entrypoint <path>", "rule or package that judges; may be repeated", collect, [])
    .option("--no-activate", "keep the former version, so that this one can be replayed first")
    .option("--activate-version <digest>", "let a former version judge plans again")
    .action(
      async (
        name: string,
        file: string | undefined,
        options: PolicyPublishOptions,
        command: Command,
      ) => {
        const { policyPublish } = await import("../commands/policy.ts");
        await run(command, async (context) => policyPublish(name, file, options, context));
      },
    );

  withServer(define("delete <name>", "delete a policy set", policy)).action(
    async (name: string, options: PolicySetOptions, command: Command) => {
      const { policyDelete } = await import("../commands/policy.ts");
      await run(command, async (context) => policyDelete(name, options, context));
    },
  );

  withServer(
    define("test <name> <plan>", "let a policy set judge a plan of terraform show -json", policy),
  )
    .option("--policy-version <digest>", "this version instead of the active one")
    .action(
      async (
        name: string,
        plan: string,
        options: PolicySetOptions & { readonly policyVersion?: string },
        command: Command,
      ) => {
        const { policyTest } = await import("../commands/policy.ts");
        await run(command, async (context) => policyTest(name, plan, options, context));
      },
    );

  withServer(
    define(
      "replay <name>",
      "let a policy set judge the plans of former runs, without effect",
      policy,
    ),
  )
    .option("--policy-version <digest>", "this version instead of the active one")
    .option("--runs <n>", "newest runs with a plan", "50")
    .action(
      async (
        name: string,
        options: PolicySetOptions & { readonly policyVersion?: string; readonly runs: string },
        command: Command,
      ) => {
        const { policyReplay } = await import("../commands/policy.ts");
        await run(command, async (context) => policyReplay(name, options, context));
      },
    );

  withServerOptions(
    define("results [run]", "show what policies said about the plan of a run", policy),
  ).action(async (id: string | undefined, options: ServerStackOptions, command: Command) => {
    const { policyResults } = await import("../commands/policy-results.ts");
    await run(command, async (context) => policyResults(id, options, context));
  });

  withServerOptions(
    define("override [run]", "let the plan of a run pass that overridable policies forbid", policy),
  )
    .option("--reason <text>", "why, which is shown to other users")
    .option("--plan-digest <digest>", "the plan that was shown; the present one by default")
    .action(
      async (
        id: string | undefined,
        options: ServerStackOptions & { readonly reason?: string; readonly planDigest?: string },
        command: Command,
      ) => {
        const { policyOverride } = await import("../commands/policy-results.ts");
        await run(command, async (context) => policyOverride(id, options, context));
      },
    );
}
