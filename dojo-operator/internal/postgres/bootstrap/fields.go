// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	corev1 "k8s.io/api/core/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/libs/apply"
)

const externalCluster = "origin"

func newChange(dojo *corev1api.Dojo, fields map[string]any) (c cnpg.Change) {
	if fields != nil {
		c = cnpg.Change{Spec: fields, Annotations: map[string]string{corev1api.OriginAnnotation: Origin(dojo)}}
	}
	return c
}

// OriginalChange returns the bootstrap fields of a live Cluster. If the operator omitted these
// fields, CloudNativePG's webhook would add the fields of an empty database.
func OriginalChange(live *cnpgv1.Cluster) (c cnpg.Change) {
	if live == nil || live.Annotations[corev1api.OriginAnnotation] == "" {
		return c
	}
	c.Spec = map[string]any{}
	if original := originalBootstrap(live.Spec.Bootstrap); original != nil {
		c.Spec["bootstrap"] = original
	}
	for i := range live.Spec.ExternalClusters {
		if source := &live.Spec.ExternalClusters[i]; source.Name == externalCluster {
			c.Spec["externalClusters"] = []any{originalExternal(source)}
		}
	}
	c.Annotations = map[string]string{corev1api.OriginAnnotation: live.Annotations[corev1api.OriginAnnotation]}
	return c
}

// originalBootstrap omits the fields that CloudNativePG's webhook adds.
func originalBootstrap(b *cnpgv1.BootstrapConfiguration) map[string]any {
	switch {
	case b == nil:
	case b.InitDB != nil && b.InitDB.Import != nil && len(b.InitDB.Import.Databases) == 1:
		secret := ""
		if b.InitDB.Secret != nil {
			secret = b.InitDB.Secret.Name
		}
		return importOf(b.InitDB.Database, b.InitDB.Owner, secret, b.InitDB.Import.Databases[0])
	case b.Recovery != nil:
		recovery := map[string]any{}
		if b.Recovery.Source != "" {
			recovery["source"] = b.Recovery.Source
		}
		if b.Recovery.Backup != nil {
			recovery["backup"] = map[string]any{"name": b.Recovery.Backup.Name}
		}
		if b.Recovery.RecoveryTarget != nil {
			recovery["recoveryTarget"] = apply.As[map[string]any](b.Recovery.RecoveryTarget)
		}
		if b.Recovery.VolumeSnapshots != nil {
			recovery["volumeSnapshots"] = apply.As[map[string]any](b.Recovery.VolumeSnapshots)
		}
		return map[string]any{"recovery": recovery}
	}
	return nil
}

func originalExternal(c *cnpgv1.ExternalCluster) map[string]any {
	if plugin := c.PluginConfiguration; plugin != nil {
		return pluginSource(plugin.Name, plugin.Parameters)
	}
	return connection(c.ConnectionParameters, c.Password, c.SSLRootCert)
}

// pluginSource sets the defaults too: server-side apply treats the list externalClusters as one
// value, so omitted defaults would count as drift.
func pluginSource(name string, parameters map[string]string) map[string]any {
	return map[string]any{"name": externalCluster, "plugin": map[string]any{
		"name": name, "enabled": true, "isWALArchiver": false, "parameters": apply.As[map[string]any](parameters),
	}}
}

func fromPlugin(name string, parameters map[string]string, serverName string, target map[string]any) map[string]any {
	all := map[string]string{"serverName": serverName}
	maps.Copy(all, parameters)
	recovery := map[string]any{"source": externalCluster}
	if len(target) > 0 {
		recovery["recoveryTarget"] = target
	}
	return map[string]any{
		"bootstrap":        map[string]any{"recovery": recovery},
		"externalClusters": []any{pluginSource(name, all)},
	}
}

func fromSnapshots(s *corev1api.RecoverySnapshots) map[string]any {
	snapshot := func(name string) map[string]any {
		return map[string]any{"name": name, "kind": "VolumeSnapshot", "apiGroup": "snapshot.storage.k8s.io"}
	}
	all := map[string]any{"storage": snapshot(s.Storage)}
	if s.WALStorage != "" {
		all["walStorage"] = snapshot(s.WALStorage)
	}
	return map[string]any{"bootstrap": map[string]any{"recovery": map[string]any{"volumeSnapshots": all}}}
}

// fromConnection names the owner's Secret, because each start of an instance sets the owner's
// password in Postgres to the password in this Secret.
func fromConnection(dojo *corev1api.Dojo, database string, external map[string]any) map[string]any {
	name := cnpg.SQLName(dojo)
	return map[string]any{
		"bootstrap":        importOf(name, name, cnpg.Owner.ObjectName(dojo), database),
		"externalClusters": []any{external},
	}
}

func importOf(database, owner, secret, source string) map[string]any {
	return map[string]any{"initdb": map[string]any{
		"database": database, "owner": owner, "secret": map[string]any{"name": secret},
		"import": map[string]any{
			"type": string(cnpgv1.MicroserviceSnapshotType), "databases": []any{source},
			"source": map[string]any{"externalCluster": externalCluster},
		},
	}}
}

func connection(parameters map[string]string, password, authority *corev1.SecretKeySelector) map[string]any {
	c := map[string]any{"name": externalCluster, "connectionParameters": apply.As[map[string]any](parameters)}
	for field, ref := range map[string]*corev1.SecretKeySelector{"password": password, "sslRootCert": authority} {
		if ref != nil {
			c[field] = map[string]any{"name": ref.Name, "key": ref.Key}
		}
	}
	return c
}

// Origin describes the source of the data of a Dojo's own Cluster; "" without bootstrap.
func Origin(dojo *corev1api.Dojo) string {
	b := dojo.BootstrapSource()
	switch {
	case b == nil:
		return ""
	case b.Import != nil:
		return "Secret " + b.Import.SourceSecretRef.Name
	}
	var origin string
	r := b.Recovery
	switch {
	case r.Backup != nil:
		origin = "Backup " + r.Backup.Name
	case r.VolumeSnapshot != nil:
		origin = "VolumeSnapshot " + strings.TrimSuffix(r.VolumeSnapshot.Storage+", "+r.VolumeSnapshot.WALStorage, ", ")
	default:
		var parameters []string
		for _, key := range slices.Sorted(maps.Keys(r.ObjectStore.Plugin.Parameters)) {
			parameters = append(parameters, ", "+key+" "+r.ObjectStore.Plugin.Parameters[key])
		}
		origin = fmt.Sprintf("%s in %s%s", r.ObjectStore.ServerName, r.ObjectStore.Plugin.Name, strings.Join(parameters, ""))
	}
	if r.TargetTime != "" {
		origin += ", at " + r.TargetTime
	}
	return cnpg.ShortOrigin(origin)
}
