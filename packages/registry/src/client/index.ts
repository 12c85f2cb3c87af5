export type {
  RegistryClientOptions,
  RemotePrivateProvider,
  RemoteVersion,
} from "./registry-client.ts";
export { createRegistryClient, RegistryClient } from "./registry-client.ts";
