import { remoteStateMethods, stateEncryption } from "@stackwright/lang";
import { TfstateError } from "@stackwright/tfstate";
import type { EncryptionSettings } from "@stackwright/tfstate/backend";
import type { Configuration } from "../configuration/configuration.ts";

/**
 * How the states are encrypted that `terraform_remote_state` reads, as the block `encryption` and `TF_ENCRYPTION` of OpenTofu say.
 * `TFSTATE_ENCRYPTION_INVALID` where they are wrong.
 */
export function remoteStateEncryption(
  { root }: Pick<Configuration, "root">,
  { TF_ENCRYPTION: text }: NodeJS.ProcessEnv,
): (address: string) => EncryptionSettings {
  const { encryption, backend } = root.config;
  let read: ReturnType<typeof stateEncryption> | undefined;
  return (address) => {
    const early = encryption?.early ?? backend?.early;
    read ??= stateEncryption(encryption?.body, { text, ...(early && { early }) });
    const problem = read.diagnostics.find(({ severity }) => severity === "error");
    if (problem === undefined) return { ...read, state: remoteStateMethods(read, address) };
    const { summary, detail } = problem;
    throw new TfstateError(
      "TFSTATE_ENCRYPTION_INVALID",
      `encryption of states: ${summary}: ${detail}`,
    );
  };
}
