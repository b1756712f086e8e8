"""Classes of xDSL that importers use: they take them from here, so that no importer depends on xDSL itself."""

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, UnknownLoc
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

__all__ = ["Attribute", "Block", "BlockArgument", "ModuleOp", "Operation", "SSAValue", "UnknownLoc", "VerifyException", "func"]
