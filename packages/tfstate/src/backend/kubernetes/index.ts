export type { WebAnswer } from "../web-request.ts";
export { sendRequest } from "../web-request.ts";
export type { ClusterAccess } from "./cluster-access.ts";
export { openCluster } from "./cluster-access.ts";
export { parseClusterFile } from "./cluster-file.ts";
