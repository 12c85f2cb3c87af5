import { join } from "node:path";
import { hasErrors } from "@stackwright/lang";
import {
  LOCK_FILE_NAME,
  LockFile,
  Platform,
  ProviderAddress,
  type ProviderRequirement,
  ProviderSourceError,
  readLockFile,
  writeLockFile,
} from "@stackwright/provider-source";
import {
  type LockedPackage,
  type LockInstallationSource,
  loadCliConfiguration,
  lockProviders,
} from "@stackwright/tfplugin/install";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { showDiagnostics } from "../render/show-diagnostics.ts";
import { authenticationText, requirementsOf } from "../session/install.ts";
import { loadProject } from "../session/project.ts";

export interface ProvidersLockOptions {
  /** Such as `linux_amd64`. Empty: that of this machine. */
  readonly platform: readonly string[];
  readonly fsMirror?: string;
  readonly netMirror?: string;
}

/** Adds the hashes of packages for several platforms to the lock file, of all required providers or of those that are named. */
export async function providersLock(
  sources: readonly string[],
  options: ProvidersLockOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { terminal, directory, env, signal } = context;
  const source = lockSource(options);
  const platforms = platformsOf(options.platform);
  const project = await loadProject(context);
  if (hasErrors(project.configuration.diagnostics)) {
    showDiagnostics(terminal, project.configuration.diagnostics);
    return EXIT.failed;
  }
  const requirements = someRequirements(requirementsOf(project), sources);
  const path = join(directory, LOCK_FILE_NAME);
  const lock = (await readLockFile(path))?.locks ?? LockFile.empty;
  const { lock: after, packages } = await lockProviders({
    requirements,
    lock,
    platforms,
    source,
    configuration: await loadCliConfiguration({ env, cwd: directory }),
    cwd: directory,
    onPackage: (done) => terminal.write(`${packageLine(done)}\n`),
    signal,
  });
  if (after.toString() !== lock.toString()) await writeLockFile(path, after);
  const isSame = packages.every(({ gain }) => gain === "nothing");
  terminal.write(
    isSame
      ? "The lock file has all of these already.\n"
      : `${LOCK_FILE_NAME} was written; keep it with the configuration.\n`,
  );
  return EXIT.ok;
}

function lockSource({ fsMirror, netMirror }: ProvidersLockOptions): LockInstallationSource {
  if (fsMirror !== undefined && netMirror !== undefined) {
    throw new CommandError("-fs-mirror and -net-mirror cannot go together.");
  }
  if (fsMirror !== undefined) return { kind: "filesystem_mirror", path: fsMirror };
  return netMirror === undefined
    ? { kind: "registry" }
    : { kind: "network_mirror", url: netMirror };
}

/** The platforms of `-platform`, each once; that of this machine where none is named. */
export function platformsOf(given: readonly string[]): readonly Platform[] {
  if (given.length === 0) return [Platform.ofNode()];
  return [...new Set(given)].map((text) => {
    try {
      return Platform.parse(text);
    } catch (error) {
      if (!ProviderSourceError.is(error, "PROVIDER_SOURCE_PLATFORM_INVALID")) throw error;
      throw new CommandError(`"${text}" is not a valid platform.`, {
        cause: error,
        advice: "Write the operating system and the architecture: linux_amd64, darwin_arm64.",
      });
    }
  });
}

function someRequirements(
  requirements: readonly ProviderRequirement[],
  sources: readonly string[],
): readonly ProviderRequirement[] {
  if (sources.length === 0) return requirements;
  const names = new Set(sources.map(sourceOf));
  const found = requirements.filter(({ address }) => names.has(address.toString()));
  for (const name of names) {
    if (found.some(({ address }) => address.toString() === name)) continue;
    throw new CommandError(`The configuration requires no provider ${name} that is installed.`, {
      advice: "stackwright providers shows which ones it requires.",
    });
  }
  return found;
}

function sourceOf(text: string): string {
  try {
    return ProviderAddress.parse(text).toString();
  } catch (error) {
    if (!ProviderSourceError.is(error, "PROVIDER_SOURCE_ADDRESS_INVALID")) throw error;
    throw new CommandError(`"${text}" is not a valid provider source: ${error.message}`, {
      cause: error,
    });
  }
}

const GAINS: Readonly<Record<LockedPackage["gain"], string>> = {
  provider: "new in the lock file",
  hashes: "new hashes",
  nothing: "known",
};

function packageLine({ address, version, platform, authentication, gain }: LockedPackage): string {
  return `${address.toString()} ${version.toString()} for ${platform.toString()}${authenticationText(authentication)}: ${GAINS[gain]}`;
}
