package v1

// The reasons that the conditions of a Dojo give, beside conditions.ReasonSettled and conditions.ReasonRetrying that all kinds share.
const (
	// ReasonScaledToZero (Available=False): spec.replicas is 0, so nothing runs and nothing is wrong.
	ReasonScaledToZero = "ScaledToZero"
	// ReasonReplicasReady (Available=True): at least one pod answers its readiness probe.
	ReasonReplicasReady = "ReplicasReady"
	// ReasonStarting (Available=False): no pod has been ready since the Dojo was created.
	ReasonStarting = "Starting"
	// ReasonScalingUp (Available=False): spec.replicas was 0 and no pod is ready yet since.
	ReasonScalingUp = "ScalingUp"
	// ReasonNoReadyReplicas (Available=False): pods have been ready before, none is now. This is an outage.
	ReasonNoReadyReplicas = "NoReadyReplicas"

	// ReasonRollingOut (Progressing): pods are being started or stopped, for a new revision or another number of replicas.
	ReasonRollingOut = "RollingOut"
	// ReasonReplicasUnavailable: a finished rollout has lost replicas. Progressing at first, since Kubernetes replaces pods by
	// itself, and Degraded once it has lasted longer than the operator's --progress-deadline.
	ReasonReplicasUnavailable = "ReplicasUnavailable"
	// ReasonWaitingForCredentials (Progressing): the Secret of spec.credentialsRef does not exist yet.
	ReasonWaitingForCredentials = "WaitingForCredentials"
	// ReasonWaitingForDeletion (Progressing): a child of a former Dojo of the same name is still being deleted.
	ReasonWaitingForDeletion = "WaitingForDeletion"
	// ReasonNamespaceTerminating (Progressing): the namespace is being deleted, and so is the Dojo.
	ReasonNamespaceTerminating = "NamespaceTerminating"

	// ReasonCredentialsNotFound (Degraded): the Secret of spec.credentialsRef is still missing after --progress-deadline.
	// Create it, or name another; pods that run already go on with the credentials that they have.
	ReasonCredentialsNotFound = "CredentialsNotFound"
	// ReasonCredentialsNotShared (Degraded): the Secret is in another namespace and does not exist there or does not
	// allow this namespace. Its owner shares it with the annotation core.jutsu.com/allowed-namespaces.
	ReasonCredentialsNotShared = "CredentialsNotShared"
	// ReasonCredentialsIncomplete (Degraded): the Secret lacks a key or has an empty one; the message names it.
	ReasonCredentialsIncomplete = "CredentialsIncomplete"
	// ReasonDatabaseNotSupported (Degraded): spec.database asks for a kind of database that no operator provides yet.
	ReasonDatabaseNotSupported = "DatabaseNotSupported"
	// ReasonNameTaken (Degraded): an object with the name of a child exists and belongs to somebody else. It is left
	// alone. Rename the Dojo, or delete that object.
	ReasonNameTaken = "NameTaken"
	// ReasonChildRefused (Degraded): the API server refuses a child, because of a quota, a policy or a missing
	// permission; the message says which. It is tried again every 15 seconds.
	ReasonChildRefused = "ChildRefused"
	// ReasonPodsRefused (Degraded): the Deployment may not create its pods, because of a quota or a policy; the
	// message says which.
	ReasonPodsRefused = "PodsRefused"
	// ReasonPaused (Degraded): somebody has paused the Deployment's rollout, so that nothing reaches the pods until it is resumed.
	ReasonPaused = "Paused"
	// ReasonProgressDeadlineExceeded (Degraded): the rollout has made no progress for --progress-deadline and the pods do not say why.
	ReasonProgressDeadlineExceeded = "ProgressDeadlineExceeded"
)

// Reasons that come from the pods themselves (Degraded). They keep the names that Kubernetes gives them.
const (
	// ReasonImagePullBackOff: the image cannot be pulled.
	ReasonImagePullBackOff = "ImagePullBackOff"
	// ReasonInvalidImageName: the image's name is not one.
	ReasonInvalidImageName = "InvalidImageName"
	// ReasonErrImageNeverPull: the image is not on the node and the policy forbids to pull it.
	ReasonErrImageNeverPull = "ErrImageNeverPull"
	// ReasonCreateContainerConfigError: the container's configuration cannot be made, for example since a key of a Secret is missing.
	ReasonCreateContainerConfigError = "CreateContainerConfigError"
	// ReasonCreateContainerError: the runtime refuses to create the container.
	ReasonCreateContainerError = "CreateContainerError"
	// ReasonRunContainerError: the runtime cannot start the container.
	ReasonRunContainerError = "RunContainerError"
	// ReasonCrashLoopBackOff: the application has ended three times or more and is not ready.
	ReasonCrashLoopBackOff = "CrashLoopBackOff"
	// ReasonUnschedulable: no node takes the pod.
	ReasonUnschedulable = "Unschedulable"
)
