export type { Authorize } from "../engine/remote/authority.ts";
export type { RemoteConnectionOptions } from "../engine/remote/connect.ts";
export type { Grant, GrantScope } from "../engine/remote/grant.ts";
export type { BlobsServiceOptions } from "./remote/blobs-service.ts";
export { createBlobsService } from "./remote/blobs-service.ts";
export type { RemoteBlobsOptions } from "./remote/remote-blobs.ts";
export { createRemoteBlobs } from "./remote/remote-blobs.ts";
