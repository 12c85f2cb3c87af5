// As much of the objects of Kubernetes as an executor reads; its API server checks what it is given.

interface Metadata {
  readonly name: string;
  readonly uid?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly deletionTimestamp?: string;
}

export interface ClusterJob {
  readonly metadata: Metadata;
  readonly status?: {
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly reason?: string;
      readonly message?: string;
    }[];
  };
}

interface ContainerStatus {
  readonly name: string;
  readonly state?: {
    readonly waiting?: { readonly reason?: string; readonly message?: string };
    readonly running?: object;
    readonly terminated?: {
      readonly exitCode: number;
      readonly reason?: string;
      readonly message?: string;
    };
  };
}

export interface ClusterPod {
  readonly metadata: Metadata;
  readonly status?: {
    readonly phase?: string;
    readonly reason?: string;
    readonly message?: string;
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly reason?: string;
      readonly message?: string;
    }[];
    readonly containerStatuses?: readonly ContainerStatus[];
    readonly initContainerStatuses?: readonly ContainerStatus[];
  };
}

export interface ClusterEvent {
  readonly type?: string;
  readonly reason?: string;
  readonly message?: string;
}

/** A pod template as operators write it: what it says of the first container is for that of the step. */
export interface PodTemplate {
  readonly metadata?: {
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec?: PodTemplateSpec;
}

interface PodTemplateSpec {
  readonly containers?: readonly TemplateContainer[];
  readonly volumes?: readonly object[];
  readonly securityContext?: object;
  readonly [name: string]: unknown;
}

interface TemplateContainer {
  readonly env?: readonly object[];
  readonly volumeMounts?: readonly { readonly mountPath?: string }[];
  readonly resources?: {
    readonly limits?: Readonly<Record<string, string | number>>;
    readonly requests?: Readonly<Record<string, string | number>>;
  };
  readonly [name: string]: unknown;
}
