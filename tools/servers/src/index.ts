export { EtcdCluster, EtcdMember, type EtcdOptions, startEtcd } from "./etcd.ts";
export { KubeApiServer, type KubeApiServerOptions, startKubeApiServer } from "./kube-apiserver.ts";
export type { ManagedServer } from "./managed-server.ts";
export { packagedPrograms } from "./packaged-programs.ts";
export { type PostgresOptions, PostgresServer, startPostgres } from "./postgres.ts";
export { findPostgres, type PostgresInstallation } from "./postgres-installation.ts";
export { ServerError, type ServerErrorCode } from "./server-error.ts";
export type { StartOptions } from "./start-options.ts";
