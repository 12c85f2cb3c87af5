import { createProvisionerRunner, type ProvisionerRunner } from "@stackwright/core";
import type { CommandContext } from "../command-context.ts";

/** Provisioners of this computer, with the environment and the SSH agent of the command. */
export function commandProvisioners({
  directory,
  env,
}: Pick<CommandContext, "directory" | "env">): ProvisionerRunner {
  const agentSocket = env.SSH_AUTH_SOCK ?? "";
  return createProvisionerRunner({
    directory,
    environment: env,
    ...(agentSocket !== "" && { agentSocket }),
  });
}
