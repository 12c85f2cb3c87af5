/*
 * The model provider as a program of its own, in the Terraform plugin protocol. Its objects are files in the folder that
 * MODEL_CLOUD names, with ids that cannot be foretold; each call takes some milliseconds.
 */

import { randomInt, randomUUID } from "node:crypto";
import { systemClock } from "@stackwright/base/clock";
import { serveLifecycleProvider, serveTerraformProvider } from "@stackwright/tfplugin/serve";
import { createModelProvider } from "../model/model-provider.ts";
import { FolderCloud } from "./folder-cloud.ts";

const cloud = new FolderCloud(process.env.MODEL_CLOUD ?? "", {
  delayMs: () => randomInt(0, 12),
  fault: () => undefined,
  survives: () => true,
  newId: () => randomUUID(),
});
const provider = createModelProvider({
  cloud,
  scheduler: systemClock,
  onCall: ({ method, type, id }) => cloud.note(`${method} ${type} ${id}`),
});
await serveTerraformProvider({
  protocols: { 6: () => serveLifecycleProvider(provider, { protocol: 6 }) },
});
