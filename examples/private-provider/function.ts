import { join } from "node:path";
import process from "node:process";
import {
  createLifecycleRunner,
  openDirectoryJournal,
  serveFunction,
} from "@stackwright/fg-bridge/function";
import { createIpamProvider } from "./ipam-provider.ts";

// The function: an HTTP server for `POST /provider`. The platform names the port, and ends it with SIGTERM.
const folder = process.env["IPAM_FOLDER"] ?? "pools";
await using _server = await serveFunction({
  runner: createLifecycleRunner({ name: "ipam", create: () => createIpamProvider(folder) }),
  port: Number(process.env["PORT"] ?? 8000),
  // A create that is delivered twice, since its answer was lost, takes one address.
  journal: await openDirectoryJournal({ directory: join(folder, ".journal") }),
});
await new Promise((resolve) => process.once("SIGTERM", resolve));
