/** What a rule of a platform is about. */
interface TrustedRun {
  /** The address of the server, as its tokens name it. */
  readonly issuer: string;
  readonly subject: string;
  /** Where the variables are set, as PROJECT/STACK. */
  readonly stack: string;
}

export const PLATFORMS = ["aws", "gcp", "azure", "vault"] as const;
export type Platform = (typeof PLATFORMS)[number];

export const PLATFORM_NAMES: Readonly<Record<Platform, string>> = {
  aws: "AWS",
  gcp: "Google Cloud",
  azure: "Azure",
  vault: "Vault",
};

/** The audience that tokens for a platform have where nothing else is set. */
const AUDIENCES: Readonly<Record<Platform, string>> = {
  aws: "aws.workload.identity",
  gcp: "//iam.googleapis.com/projects/NUMBER/locations/global/workloadIdentityPools/stackwright/providers/stackwright",
  azure: "api://AzureADTokenExchange",
  vault: "vault",
};

/** One step, and what is entered for it. */
interface TrustStep {
  readonly what: string;
  readonly text: string;
}

/** How a platform is told to trust the runs of a stack, step by step. Words in capitals are the reader's. */
export function trustSteps(platform: Platform, run: TrustedRun): readonly TrustStep[] {
  const { issuer, subject } = run;
  const host = issuer.replace(/^https?:\/\//, "");
  const audience = AUDIENCES[platform];
  switch (platform) {
    case "aws":
      return [
        {
          what: "Make the server an identity provider of the account, once",
          text: `aws iam create-open-id-connect-provider --url ${quote(issuer)} --client-id-list ${audience}`,
        },
        {
          what: "The trust policy of a role that the runs may take",
          text: JSON.stringify(
            {
              Version: "2012-10-17",
              Statement: [
                {
                  Effect: "Allow",
                  Principal: { Federated: `arn:aws:iam::ACCOUNT:oidc-provider/${host}` },
                  Action: "sts:AssumeRoleWithWebIdentity",
                  Condition: {
                    StringEquals: { [`${host}:aud`]: audience, [`${host}:sub`]: subject },
                  },
                },
              ],
            },
            undefined,
            2,
          ),
        },
        {
          what: "Name the role",
          text: setVariable(run, "AWS", "ROLE_ARN", "arn:aws:iam::ACCOUNT:role/ROLE"),
        },
      ];
    case "gcp":
      return [
        {
          what: "Make a pool with the server as its provider, once",
          text: [
            "gcloud iam workload-identity-pools create stackwright --location=global",
            "gcloud iam workload-identity-pools providers create-oidc stackwright \\",
            "  --location=global --workload-identity-pool=stackwright \\",
            `  --issuer-uri=${quote(issuer)} \\`,
            "  --attribute-mapping=google.subject=assertion.sub",
          ].join("\n"),
        },
        {
          what: "Let the runs act as a service account",
          text: [
            "gcloud iam service-accounts add-iam-policy-binding NAME@PROJECT.iam.gserviceaccount.com \\",
            "  --role=roles/iam.workloadIdentityUser \\",
            `  --member=${quote(`principal://iam.googleapis.com/projects/NUMBER/locations/global/workloadIdentityPools/stackwright/subject/${subject}`)}`,
          ].join("\n"),
        },
        {
          what: "Name both",
          text: [
            setVariable(run, "GCP", "PROVIDER", audience.replace("//iam.googleapis.com/", "")),
            setVariable(run, "GCP", "SERVICE_ACCOUNT", "NAME@PROJECT.iam.gserviceaccount.com"),
          ].join("\n"),
        },
      ];
    case "azure":
      return [
        {
          what: "Add a federated credential to an application",
          text: `az ad app federated-credential create --id APPLICATION --parameters ${quote(
            JSON.stringify({ name: "stackwright", issuer, subject, audiences: [audience] }),
          )}`,
        },
        {
          what: "Name the application",
          text: setVariable(run, "AZURE", "CLIENT_ID", "APPLICATION"),
        },
      ];
    case "vault":
    default:
      return [
        {
          what: "Let Vault read the keys of the server, once",
          text: [
            "vault auth enable jwt",
            `vault write auth/jwt/config oidc_discovery_url=${quote(issuer)}`,
          ].join("\n"),
        },
        {
          what: "A role of the runs",
          text: [
            "vault write auth/jwt/role/stackwright role_type=jwt user_claim=sub \\",
            `  bound_audiences=${audience} bound_subject=${quote(subject)} token_policies=POLICY`,
          ].join("\n"),
        },
        {
          what: "Ask for the token",
          text: `stackwright variables set STACKWRIGHT_IDENTITY_AUDIENCE_VAULT ${audience} --env --stack ${run.stack}`,
        },
      ];
  }
}

/** The command that sets a setting of a platform for the phase of the subject alone. */
function setVariable(
  { subject, stack }: TrustedRun,
  platform: string,
  name: string,
  value: string,
): string {
  const phase = subject.endsWith(":plan") ? "PLAN" : "APPLY";
  return `stackwright variables set STACKWRIGHT_IDENTITY_${platform}_${phase}_${name} ${value} --env --stack ${stack}`;
}

function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
