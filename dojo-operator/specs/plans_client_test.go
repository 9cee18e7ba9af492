// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func (c *planningClient) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	var options client.CreateOptions
	options.ApplyOptions(opts)
	return c.write(ctx, o, "create", options.DryRun, c.asGiven(o),
		func() error { return c.Client.Create(ctx, o, opts...) })
}

func (c *planningClient) Update(ctx context.Context, o client.Object, opts ...client.UpdateOption) error {
	var options client.UpdateOptions
	options.ApplyOptions(opts)
	return c.write(ctx, o, "update", options.DryRun, c.asGiven(o),
		func() error { return c.Client.Update(ctx, o, opts...) })
}

func (c *planningClient) Patch(ctx context.Context, o client.Object, p client.Patch, opts ...client.PatchOption) error {
	var options client.PatchOptions
	options.ApplyOptions(opts)
	next := func() (map[string]any, error) {
		tried := o.DeepCopyObject().(client.Object)
		if err := c.Client.Patch(ctx, tried, p, slices.Concat(opts, []client.PatchOption{client.DryRunAll})...); err != nil {
			return nil, err
		}
		return c.asGiven(tried)()
	}
	return c.write(ctx, o, "patch", options.DryRun, next,
		func() error { return c.Client.Patch(ctx, o, p, opts...) })
}

func (c *planningClient) Apply(
	ctx context.Context, o runtime.ApplyConfiguration, opts ...client.ApplyOption,
) error {
	c.end(ctx)
	return c.Client.Apply(ctx, o, opts...)
}

func (c *planningClient) Delete(ctx context.Context, o client.Object, opts ...client.DeleteOption) error {
	c.end(ctx)
	return c.Client.Delete(ctx, o, opts...)
}

func (c *planningClient) DeleteAllOf(ctx context.Context, o client.Object, opts ...client.DeleteAllOfOption) error {
	c.end(ctx)
	return c.Client.DeleteAllOf(ctx, o, opts...)
}

func (c *planningClient) Status() client.SubResourceWriter { return c.SubResource("status") }

func (c *planningClient) SubResource(name string) client.SubResourceClient {
	return endingClient{c.Client.SubResource(name), c}
}

// endingClient ends the open window before it writes a subresource.
type endingClient struct {
	client.SubResourceClient

	of *planningClient
}

func (e endingClient) Create(
	ctx context.Context, o, sub client.Object, opts ...client.SubResourceCreateOption,
) error {
	e.of.end(ctx)
	return e.SubResourceClient.Create(ctx, o, sub, opts...)
}

func (e endingClient) Update(ctx context.Context, o client.Object, opts ...client.SubResourceUpdateOption) error {
	e.of.end(ctx)
	return e.SubResourceClient.Update(ctx, o, opts...)
}

func (e endingClient) Patch(
	ctx context.Context, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption,
) error {
	e.of.end(ctx)
	return e.SubResourceClient.Patch(ctx, o, p, opts...)
}

func (e endingClient) Apply(
	ctx context.Context, o runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption,
) error {
	e.of.end(ctx)
	return e.SubResourceClient.Apply(ctx, o, opts...)
}
