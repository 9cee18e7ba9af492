// SPDX-License-Identifier: Apache-2.0

package architecture

// Imports lists, for each package, the packages of the project that it may import. Tests may import
// any package. `go test ./architecture -update` writes the table into the docs.
//
//   - "PACKAGES: IMPORTS" is a line. Indented lines continue it. Each package has exactly one line.
//   - "[FOLDER] IMPORTS" begins a section. Its packages may import IMPORTS too, and "./" is FOLDER.
//   - {a,b} expands as in a shell, * is one path element, and x/... is x and everything below it.
const Imports = `
apis/{core/v1,discord/v1alpha1}: # users import it

[libs]
./conditions ./apply/expectations ./kubectl/term ./manager/{buildversion,fairqueue,fence}
    ./discordclient/{gateway,internal/ratelimit,permissions,guildcache/internal/{fanout,pending}}:
./apply: ./apply/expectations ./conditions # no kind of ours
./manager: ./manager/fence
./discordclient: ./discordclient/{internal/ratelimit,permissions}
./discordclient/guildcache: ./discordclient{,/gateway,/guildcache/internal/store}
./discordclient/guildcache/internal/store: ./discordclient{,/permissions,/guildcache/internal/{fanout,pending}}
./discordclient/recovery: ./discordclient{,/guildcache}
./kubectl: ./kubectl/term # the plugins

[dojo-operator/internal] apis/{core/v1,discord/v1alpha1} libs/conditions libs/apply{,/expectations}
dojo-operator/cmd/dojo-operator: ./{dojo,metrics,mounted,options,postgres/sizes} libs/manager{,/buildversion}
./options: ./{dojo,postgres{,/images},credentials,release,workload,exposure,monitoring,pods} libs/manager
./dojo: ./{postgres{,/cnpg,/images,/sizes},mounted,credentials,release,workload,exposure,monitoring,pods,ownership}
    ./{optionalkinds,metrics} libs/manager/{fairqueue,fence}
./postgres: ./postgres/* ./{pods,ownership,optionalkinds}
# A part imports no other part, a step of postgres no other step, and neither imports dojo.
./postgres/{bootstrap,database,images,login,pooler}: ./{postgres/cnpg,ownership}
./postgres/{cluster,upgrade}: ./{postgres/{cnpg,images},ownership}
./postgres/backup: ./{postgres/cnpg,ownership,optionalkinds}
./postgres/schema: ./{postgres/cnpg,ownership,pods}
./{postgres/cnpg,exposure,monitoring}: ./{ownership,optionalkinds}
./workload: ./{pods,ownership}
./release: ./{release/migrations,pods,ownership}
dojo-operator/cmd/dojo-migrate: ./release/migrations # no kind of Kubernetes
./{credentials,pods}: ./ownership
./{ownership,optionalkinds,metrics,mounted,release/migrations,postgres/sizes}:
dojo-operator/cmd/kubectl-dojo: ./cli libs/{kubectl,manager/buildversion} # uses the parts' names and pure functions
./cli{,/check,/kinds,/recovery,/redact,/view,/world}: ./cli/* ./{exposure,monitoring,optionalkinds}
    ./{credentials,mounted,pods,ownership,options} ./postgres/{bootstrap,cluster,cnpg,images,login,pooler,sizes}
    libs/kubectl{,/term}
./cli/plan: ./cli/{kinds,redact} ./{dojo,metrics,mounted,optionalkinds,credentials,monitoring,ownership}
    ./postgres/{cnpg,images,sizes} libs/{apply,kubectl} # kubectl dojo plan runs the Reconciler

[discord-operator/internal] apis/discord/v1alpha1 libs/{apply,conditions,discordclient{,/guildcache,/permissions}}
discord-operator/cmd/discord-operator: ./controller{,/*} ./discord/{bot,lifecycle} ./kube/*
    libs/{manager{,/buildversion},discordclient/recovery}
discord-operator/cmd/kubectl-discord: ./cli/command libs/{kubectl,manager/buildversion}
# A kind imports no other kind. A webhook belongs to a channel and is no kind.
./controller/{group,role}: ./controller ./discord/{bot,issues,lifecycle,order,overwrites,resource}
    ./kube/{grant,index,status} libs/manager/fence
./controller/channel: ./controller{,/webhook} ./discord/{bot,issues,lifecycle,overwrites,resource,tags}
    ./kube/{grant,index,status} libs/manager/fence
./controller/server: ./discord/{bot,issues,lifecycle,overwrites,resource} ./kube/{grant,index,status} libs/manager/fence
./controller/webhook: ./discord/{bot,issues,lifecycle,resource} ./kube/{index,status}
./controller: ./discord/{bot,issues,lifecycle} ./kube/{grant,status}
./discord/lifecycle: ./discord/{issues,order,overwrites,resource} ./kube/{index,status}
    libs/{manager/fairqueue,discordclient/recovery} # it knows no kind
./discord/bot: ./discord/{issues,overwrites} ./kube/{grant,index}
./discord/resource: ./discord/{order,overwrites} libs/discordclient/recovery
./discord/issues: libs/manager/fence
./discord/{order,overwrites,tags} ./cli{,/schema}:
./cli/command: ./cli{,/{export,kinds,plan,recreate,view,world}} ./{discord/bot,kube/{grant,status}} libs/kubectl{,/term}
./cli/{recreate,view,world}: ./cli/{kinds,world} ./discord/overwrites ./kube/{grant,status} libs/kubectl{,/term}
./cli/kinds: ./kube/status libs/kubectl
./cli/export: ./cli{,/schema} ./controller/* ./discord/{overwrites,resource} libs/{kubectl,manager}
./cli/plan: ./cli{,/schema} ./controller/* ./discord/{bot,issues,lifecycle,overwrites,resource} ./kube/{grant,status}
    libs/{kubectl,manager} # it uses the tables and plans of the controllers

[discord-operator/internal/kube] apis/discord/v1alpha1 libs/{apply,conditions} # no Discord, except status and grant:
./{index,metrics}:
./status: ./metrics libs/apply/expectations ../discord/issues # status chooses the issue that is reported
./grant: libs/discordclient/{guildcache,permissions} # the permissions of a role, the roles of an overwrite

[test] # does not ship: nothing that ships imports test, specs, or a package *test
./{architecture,deploy,e2e{,/programs/*},internal/netpol,observability,pages,release}
    ./testcluster/{auditlog,internal/progress,largest,manifests,process,project}
    {dojo,discord}-operator/specs libs/apply/applytest tools/{compiled,crds,ferretdb,project/{git,location}}:
tools/{charts,release}: tools/project/{git,location,modules}
tools/project: tools/project/*
tools/project/{modules,relocate}: tools/project/{git,location}
libs/discordclient/guildcache/cachetest: libs/discordclient{,/gateway,/guildcache} ./discordtest
libs/kubectl/kubectltest: libs/kubectl
dojo-operator/internal/{dojotest,cli/apitest}: libs/kubectl/kubectltest apis/*/* libs/conditions
    dojo-operator/internal/{ownership,cli/kinds,postgres/images} libs/apply{,/applytest,/expectations}
discord-operator/internal/discord/guildtest: libs/discordclient{,/guildcache} ./discordtest
./discordtest/...: ./discordtest/...
./testcluster/{binaries,cmd/testcluster}: ./testcluster/{binaries,internal/progress,process,project}
./testcluster{,/cnpgtest,/rbacusage}: ./testcluster{,/auditlog,/binaries,/internal/progress,/process,/project}
./environment{,/spec}: apis/*/* ./environment ./testcluster{,/*}
./{bench,chaos,dev,playground}: apis/*/* libs/{conditions,discordclient} ./{discordtest,environment} ./testcluster{,/*}
./live: apis/discord/v1alpha1 libs/{conditions,discordclient{,/permissions}} ./{discordtest,environment}
./e2e/{cmd/cluster,internal/*}: ./e2e/internal/* ./environment ./testcluster{,/binaries,/manifests,/project}
./internal/{former,kubectl,quickstart}: ./testcluster/{binaries,project}
`
