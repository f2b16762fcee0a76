"""What is known about code before any rule runs: outlines, the project, hotness, values.

Nothing but subpackages is here, in the order in which they stand on each other, which an import contract holds: each
knows those above it only, and values and devices, which answer for each other, one another. A module belongs to the
subject of what it knows, whichever rules ask it.

    syntax         text, trees and chains of names; what torch's own names stand for
    outlines       what one file says, kept between runs: definitions, calls, branches that run rarely
    bindings       what the names of one function or file stand for, by its assignments
    call_graph     all files together: what names mean across them, who calls whom, what programs reach
    roles          functions that somebody else calls, per step or seldom: frameworks, loaders, agents, meters
    hotness        which loops and lines run at every step, and why; what never runs
    values         kind of an expression: tensor, module, number; its dimensions, its graph
    devices        on which device a tensor lies: what names devices, what moves things, what a step is given
    files          a project and its files as rules are given them, and questions of any kind of rule to them
    constants      numbers that the host has, and what no step changes: settings, options, data that a module holds
    copies         tensors made on the host for the device, and tensors copied back
    element_loops  loops over the elements or rows of tensors, which one operation would do
    loaders        loaders, data sets, and the way of their batches to the device
    reads          where the host waits for the device: numbers, truths, text; and what it does with them
    indexing       indices and masks: on the host, or with a result as large as the data say
    models         parts of models: attention, layers, decoding, checkpoints
    fixes          edits of a file's text, and what to write instead
    processes      what holds for whole processes: switches, environment, compiling, mixed precision, distributed runs
    optimizers     optimizers, and loops over parameters and their gradients
    autograd       graphs and backward passes: which are recorded, kept, gone through for nothing
"""
