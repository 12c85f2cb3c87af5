/*
 * `init` as a program: installs what its arguments name (`<address> <constraints>`, any number of pairs) into the present
 * folder, by the configuration of the environment, and writes the lock file.
 */
import {
  LOCK_FILE_NAME,
  LockFile,
  ProviderAddress,
  type ProviderRequirement,
  readLockFile,
  VersionConstraints,
  writeLockFile,
} from "@stackwright/provider-source";
import { loadCliConfiguration } from "../../install/cli-configuration.ts";
import { installProviders } from "../../install/installer.ts";

const given = process.argv.slice(2);
const requirements: ProviderRequirement[] = [];
for (let at = 0; at < given.length; at += 2) {
  requirements.push({
    address: ProviderAddress.parse(given[at] ?? ""),
    constraints: VersionConstraints.parse(given[at + 1] ?? ""),
  });
}
const { lock } = await installProviders({
  requirements,
  lock: (await readLockFile(LOCK_FILE_NAME))?.locks ?? LockFile.empty,
  directory: ".terraform/providers",
  configuration: await loadCliConfiguration({ env: process.env }),
});
await writeLockFile(LOCK_FILE_NAME, lock);
