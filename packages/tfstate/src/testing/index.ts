export { type Azurite, startAzurite } from "./azurite.ts";
export { startConsul } from "./consul-agent.ts";
export { startFakeConsul } from "./fake-consul.ts";
export { startFakeKubernetes } from "./fake-kubernetes.ts";
export { postgresSchema } from "./postgres-schema.ts";
