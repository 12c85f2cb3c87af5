import { type Clock, systemClock } from "@stackwright/base/clock";
import { runLocalCommand } from "./local-exec.ts";
import type { OutputRoom } from "./paced-lines.ts";
import type { ProvisionerRunner } from "./provisioner-runner.ts";
import { copyFile, runRemoteScripts } from "./remote-provisioners.ts";
import { connectSsh } from "./ssh-session.ts";
import { sshSettings } from "./ssh-settings.ts";

/** Where provisioners run. */
interface ProvisionerRunnerOptions {
  /** The folder that relative paths of provisioners are relative to. */
  readonly directory: string;
  /** Variables that local commands see. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Path of the socket of the SSH agent. @default no agent is asked */
  readonly agentSocket?: string;
  /** Asked after each piece of output; its program waits as long as that. @default there is always room */
  readonly room?: OutputRoom;
  /** @default that of the process */
  readonly clock?: Clock;
}

/** Executes `local-exec` on this computer, `remote-exec` and `file` by SSH. */
export function createProvisionerRunner({
  directory,
  environment,
  agentSocket,
  room,
  clock = systemClock,
}: ProvisionerRunnerOptions): ProvisionerRunner {
  return {
    async run({ type, config, connection }, given) {
      const context = room === undefined ? given : { ...given, room };
      if (type === "local-exec") {
        await runLocalCommand(config, { directory, environment, clock }, context);
        return;
      }
      const settings = sshSettings(connection, agentSocket !== undefined);
      const { signal, onOutput } = context;
      await using session = await connectSsh(settings, { clock, signal, onOutput, agentSocket });
      try {
        if (type === "file") await copyFile(config, session, directory);
        else {
          const { scriptPath } = settings;
          await runRemoteScripts(config, session, { directory, scriptPath }, context);
        }
      } catch (error) {
        signal.throwIfAborted();
        throw error;
      }
    },
  };
}
