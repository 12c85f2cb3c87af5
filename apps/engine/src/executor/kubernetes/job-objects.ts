import type { PodTemplate } from "./cluster-objects.ts";
import { memoryBytes } from "./memory-bytes.ts";
import { POD_DIRECTORY, POD_SECRET } from "./pod-places.ts";

/** What the operator says of the pods of executions. */
export interface PodSettings {
  readonly image: string;
  /** What pods have beside what they need. @default nothing */
  readonly template?: PodTemplate | undefined;
  /** Where a pod writes. @default /var/lib/stackwright */
  readonly directory?: string;
  /** Variables with what reaches the network, which may hold passwords of proxies: they come from the Secret. */
  readonly environment: Readonly<Record<string, string>>;
}

/** One execution, as its objects name it. */
export interface NamedExecution {
  /** Of the Job and its Secret: a name of this execution alone. */
  readonly id: string;
  /** `sw-<run>-<attempt>`. */
  readonly name: string;
  /** On all Jobs of one store. */
  readonly instance: string;
  /** Where the pod reaches its worker: `HOST:PORT`. */
  readonly address: string;
}

export const INSTANCE_LABEL = "stackwright.dev/instance";
export const EXECUTION_LABEL = "stackwright.dev/execution";

/** The container of the step. */
export const STEP_CONTAINER = "step";

const USER = 10_001;
/** Longer than any step may take: what a worker that died left ends by itself. */
const DEADLINE_SECONDS = 8 * 24 * 3_600;
/** How long a Job that nothing removed stays after its end. */
const KEPT_SECONDS = 3_600;
/** For a step that its node stops: 10 s for what is being called, and some to end. */
const GRACE_SECONDS = 15;
const RESOURCES = {
  requests: { cpu: "250m", memory: "512Mi" },
  limits: { memory: "2Gi" },
};
const KEY = "key";

/** A Job that waits: it begins when its Secret is there. */
export function jobObject(execution: NamedExecution, settings: PodSettings): object {
  const { id, name, instance } = execution;
  const labels = {
    "app.kubernetes.io/name": "stackwright",
    "app.kubernetes.io/component": "step",
    [INSTANCE_LABEL]: instance,
    [EXECUTION_LABEL]: name,
  };
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { name: id, labels },
    spec: {
      suspend: true,
      backoffLimit: 0,
      completions: 1,
      parallelism: 1,
      activeDeadlineSeconds: DEADLINE_SECONDS,
      ttlSecondsAfterFinished: KEPT_SECONDS,
      template: podTemplate(execution, settings, labels),
    },
  };
}

/** The Secret of a Job, which goes with it. */
export function secretObject(
  { id }: NamedExecution,
  uid: string,
  key: Uint8Array,
  { environment }: PodSettings,
): object {
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: {
      name: id,
      ownerReferences: [{ apiVersion: "batch/v1", kind: "Job", name: id, uid }],
    },
    immutable: true,
    stringData: { ...environment, [KEY]: Buffer.from(key).toString("base64") },
  };
}

function podTemplate(
  { id, address }: NamedExecution,
  settings: PodSettings,
  labels: Readonly<Record<string, string>>,
): object {
  const { image, template = {}, directory = POD_DIRECTORY, environment } = settings;
  const { containers = [], volumes = [], securityContext, ...spec } = template.spec ?? {};
  const [given = {}, ...others] = containers;
  const { resources = RESOURCES, env = [], volumeMounts = [] } = given;
  const memory = memoryBytes(resources.limits?.["memory"]);
  const mountsDirectory = volumeMounts.some(({ mountPath }) => mountPath === directory);
  return {
    metadata: {
      labels: { ...template.metadata?.labels, ...labels },
      ...(template.metadata?.annotations !== undefined && {
        annotations: template.metadata.annotations,
      }),
    },
    spec: {
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      terminationGracePeriodSeconds: GRACE_SECONDS,
      ...spec,
      restartPolicy: "Never",
      securityContext: {
        runAsUser: USER,
        runAsGroup: USER,
        fsGroup: USER,
        seccompProfile: { type: "RuntimeDefault" },
        ...securityContext,
        runAsNonRoot: true,
      },
      containers: [
        {
          ...given,
          name: STEP_CONTAINER,
          image,
          command: ["stackwright"],
          args: [
            "execute",
            `--worker=${address}`,
            `--name=${id}`,
            `--key-file=${POD_SECRET}/${KEY}`,
            `--directory=${directory}`,
            ...(memory === undefined ? [] : [`--memory-bytes=${memory}`]),
          ],
          resources,
          securityContext: {
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ["ALL"] },
          },
          env: [
            ...Object.keys(environment).map((variable) => ({
              name: variable,
              valueFrom: { secretKeyRef: { name: id, key: variable } },
            })),
            ...env,
          ],
          volumeMounts: [
            { name: "stackwright-key", mountPath: POD_SECRET, readOnly: true },
            { name: "stackwright-tmp", mountPath: "/tmp" },
            ...(mountsDirectory ? [] : [{ name: "stackwright-work", mountPath: directory }]),
            ...volumeMounts,
          ],
        },
        ...others,
      ],
      volumes: [
        {
          name: "stackwright-key",
          // The group of the pod reads it, and nothing else in it.
          secret: { secretName: id, defaultMode: 0o440, items: [{ key: KEY, path: KEY }] },
        },
        { name: "stackwright-tmp", emptyDir: {} },
        ...(mountsDirectory ? [] : [{ name: "stackwright-work", emptyDir: {} }]),
        ...volumes,
      ],
    },
  };
}
