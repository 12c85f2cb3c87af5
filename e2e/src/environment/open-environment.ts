import { openComposeEnvironment } from "./compose-environment.ts";
import type { Environment } from "./environment.ts";
import { startProcesses } from "./process-environment.ts";

/** The environment that `E2E_ENVIRONMENT` names: `processes` of this machine, or the `compose` project that runs. */
export async function openEnvironment(): Promise<Environment> {
  const kind = process.env["E2E_ENVIRONMENT"] ?? "processes";
  switch (kind) {
    case "processes":
      return startProcesses();
    case "compose":
      return openComposeEnvironment();
    default:
      throw new Error(`E2E_ENVIRONMENT is "${kind}", neither processes nor compose`);
  }
}
