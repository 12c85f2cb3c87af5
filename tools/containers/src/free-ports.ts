import { freePorts as findPorts } from "@stackwright/base/free-ports";
import type { Ports } from "./prepare.ts";

/** Ports of this machine which were free a moment ago. */
export async function freePorts(): Promise<Ports> {
  const [server = 0, storage = 0, functions = 0] = await findPorts(3);
  return { server, storage, functions };
}
